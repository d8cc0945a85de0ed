// The compute threads: one function at a time, run by all of them at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace quire {

// A borrowed callable `void(int thread_idx, int num_threads)`; one pointer pair, no allocation.
class ThreadTask {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ThreadTask>)
      // The constraint keeps copies apart, and a task is made at the call.
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      ThreadTask(F&& function)
      : object_(const_cast<void*>(static_cast<const void*>(&function))),
        call_([](void* object, int thread_idx, int num_threads) {
          (*static_cast<std::remove_reference_t<F>*>(object))(thread_idx, num_threads);
        }) {}
  void operator()(int thread_idx, int num_threads) const {
    call_(object_, thread_idx, num_threads);
  }

 private:
  void* object_;
  void (*call_)(void*, int, int);
};

struct ThreadPoolOptions {
  int num_threads = 0;  // 0: one a physical core that this process may use
  bool pin = true;      // each thread to a core of its own
};

// `num_threads` workers, the caller of Run being one of them. Waiting threads spin briefly, then
// sleep. One thread at a time may call Run; the pool does not nest. Where threads are pinned, Run
// pins its caller too, and threads that the caller starts later inherit its core.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int num_threads() const;

  // Calls task(i, num_threads()) on every thread i at once and returns when all have returned.
  void Run(const ThreadTask& task);

  // Calls function(i, thread_idx) once for each i in [0, count). Each thread goes through a share
  // of neighbours in order, so that memory which they read in order streams, and then takes what
  // others have left. Does not wait for a thread that has not begun: one that lost its core costs
  // nothing. A single call is made by the caller.
  template <typename F>
  void ForEach(std::int64_t count, const F& function) {
    if (count <= 1 || num_threads() == 1) {
      for (std::int64_t i = 0; i < count; ++i) function(i, 0);
      return;
    }
    Cursor* cursors = DealShares(count);
    RunWithHelp([&](int thread_idx, int num_threads) {
      for (int k = 0; k < num_threads; ++k) {
        Cursor& share = cursors[(thread_idx + k) % num_threads];
        for (std::int64_t i = share.next.fetch_add(1, std::memory_order_relaxed); i < share.end;
             i = share.next.fetch_add(1, std::memory_order_relaxed)) {
          function(i, thread_idx);
        }
      }
    });
  }

  // Inside Run: waits until every thread has called it. All threads must call it equally often.
  void Barrier();

 private:
  // What is left of a thread's share; on a cache line of its own.
  struct alignas(64) Cursor {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };
  // One a thread, set to even shares of [0, count).
  Cursor* DealShares(std::int64_t count);

  // As Run, but threads that come after the caller is done are not waited for.
  void RunWithHelp(const ThreadTask& task);

  struct State;
  std::unique_ptr<State> state_;
};

// Items [begin, end) of thread `thread_idx`'s even share of `count`, cut at multiples of `grain`.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};
Range ShareOf(std::int64_t count, int thread_idx, int num_threads, std::int64_t grain = 1);

}  // namespace quire
