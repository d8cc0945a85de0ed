#include "platform/thread_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "platform/cpu.h"

namespace quire {
namespace {

class Pools : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OfSizes, Pools, testing::Values(1, 2, 3, 5));

TEST_P(Pools, RunEveryThreadOnceEachTime) {
  ThreadPool pool({.num_threads = GetParam()});
  std::vector<int> calls(static_cast<std::size_t>(GetParam()));
  for (int turn = 1; turn <= 200; ++turn) {
    pool.Run([&](int thread_idx, int num_threads) {
      EXPECT_EQ(num_threads, GetParam());
      ++calls[static_cast<std::size_t>(thread_idx)];
    });
    for (const int count : calls) ASSERT_EQ(count, turn);
  }
}

// Many short runs, since the way out is what can go wrong: a thread that comes late to a run that
// is all but over.
TEST_P(Pools, ReturnOnlyWhenEveryThreadHasLeft) {
  const int num_threads = GetParam();
  ThreadPool pool({.num_threads = num_threads, .pin = false});
  for (int turn = 0; turn < 500; ++turn) {
    std::atomic<int> num_done = 0;
    pool.Run([&](int thread_idx, int) {
      volatile int work = 0;  // the caller is through first, then the others one after another
      for (int i = 0; i < thread_idx * 20; ++i) work = work + 1;
      num_done.fetch_add(1, std::memory_order_relaxed);
    });
    ASSERT_EQ(num_done.load(std::memory_order_relaxed), num_threads) << "run " << turn;
  }
}

TEST_P(Pools, ForEachCallsEachItemOnce) {
  ThreadPool pool({.num_threads = GetParam()});
  for (const int count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    pool.ForEach(count, [&](std::int64_t i, int) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& call : calls) EXPECT_EQ(call, 1);
  }
}

TEST(ThreadPool, WakesAfterItSleptAndFromAnotherCaller) {
  ThreadPool pool({.num_threads = 2});
  std::atomic<int> num_calls = 0;
  pool.Run([&](int, int) { ++num_calls; });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // past the spin
  std::thread other([&] { pool.Run([&](int, int) { ++num_calls; }); });
  other.join();
  EXPECT_EQ(num_calls, 4);
}

TEST(ThreadPool, HasAsManyThreadsAsCoresByDefault) {
  EXPECT_EQ(ThreadPool({}).num_threads(), static_cast<int>(UsableCores().size()));
}

TEST(ShareOf, CutsAtGrainsAndLeavesNothingOut) {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 576, 1000}) {
    for (const int num_threads : {1, 2, 3, 7}) {
      std::int64_t next = 0;
      for (int i = 0; i < num_threads; ++i) {
        const Range range = ShareOf(count, i, num_threads, 16);
        EXPECT_EQ(range.begin, next);
        EXPECT_TRUE(range.end % 16 == 0 || range.end == count);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace quire
