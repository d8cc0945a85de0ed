#include "platform/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include "platform/cpu.h"

namespace quire {
namespace {

// Long enough to bridge the serial work between two operators of a step, short enough that an
// idle pool leaves its cores to others.
constexpr auto kSpinTime = std::chrono::microseconds(60);
constexpr int kSpinsBetweenClockReads = 32;
constexpr int kCacheLine = 64;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns once `word` differs from `old`: spins, then sleeps until notified.
void WaitWhile(const std::atomic<std::uint32_t>& word, std::uint32_t old, bool spin) {
  if (spin) {
    const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
    do {
      for (int i = 0; i < kSpinsBetweenClockReads; ++i) {
        if (word.load(std::memory_order_acquire) != old) return;
        Pause();
      }
    } while (std::chrono::steady_clock::now() < deadline);
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

void PinThisThread(int cpu) {
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  // A failure leaves the thread where the system puts it, which is right if slower.
  pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
}

// A run is open while threads may join it. `joining` holds the run's number in its high half, then
// kOpen, then how many threads are inside; so that joining a run that has closed, or a later one by
// mistake, fails in one compare-and-swap.
constexpr std::uint64_t kOpen = std::uint64_t{1} << 31;
constexpr std::uint64_t kInside = kOpen - 1;

}  // namespace

// The fields that change under load stand on cache lines of their own.
struct ThreadPool::State {
  // Constant after construction.
  int num_threads = 1;
  bool spin = true;        // each thread has a core
  std::vector<int> cores;  // to pin to, empty: do not
  std::vector<std::thread> threads;

  // Of the thread that calls Run.
  std::unique_ptr<Cursor[]> cursors;
  const ThreadTask* task = nullptr;  // published by `joining`
  std::optional<std::thread::id> pinned_caller;

  alignas(kCacheLine) std::atomic<std::uint32_t> run = 0;  // its number; what idle threads watch
  std::atomic<bool> stop = false;                          // published by `run`
  alignas(kCacheLine) std::atomic<std::uint64_t> joining = 0;
  std::atomic<int> num_joined = 0;                          // of this run, so far
  alignas(kCacheLine) std::atomic<std::uint32_t> left = 0;  // one up when a thread leaves
  alignas(kCacheLine) std::atomic<int> num_arrived = 0;     // at the barrier
  std::atomic<std::uint32_t> barrier_epoch = 0;

  void Work(int thread_idx);
  bool Join(std::uint32_t number);
  void Leave();
  void Start(const ThreadTask& next_task);
  void Finish(bool needs_all);
  void PinCaller();
};

bool ThreadPool::State::Join(std::uint32_t number) {
  std::uint64_t word = joining.load(std::memory_order_acquire);
  while (word >> 32 == number && (word & kOpen) != 0) {
    // Acquires the task that Start published, even after another thread joined.
    if (joining.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel)) {
      num_joined.fetch_add(1, std::memory_order_release);  // Finish sees who is inside with it
      return true;
    }
  }
  return false;
}

void ThreadPool::State::Leave() {
  joining.fetch_sub(1, std::memory_order_acq_rel);  // hands this thread's writes to Finish
  left.fetch_add(1, std::memory_order_release);
  left.notify_one();
}

void ThreadPool::State::Work(int thread_idx) {
  if (!cores.empty()) PinThisThread(cores[static_cast<std::size_t>(thread_idx)]);
  std::uint32_t seen = 0;
  while (true) {
    WaitWhile(run, seen, spin);
    if (stop.load(std::memory_order_relaxed)) return;
    seen = run.load(std::memory_order_acquire);
    if (!Join(seen)) continue;
    (*task)(thread_idx, num_threads);
    Leave();
  }
}

void ThreadPool::State::Start(const ThreadTask& next_task) {
  PinCaller();
  const std::uint32_t number = run.load(std::memory_order_relaxed) + 1;
  task = &next_task;
  num_joined.store(0, std::memory_order_relaxed);
  joining.store((std::uint64_t{number} << 32) | kOpen, std::memory_order_release);
  run.store(number, std::memory_order_release);
  run.notify_all();
}

// Waits until nobody is inside: of those who joined, or of all threads.
void ThreadPool::State::Finish(bool needs_all) {
  if (!needs_all) joining.fetch_and(~kOpen, std::memory_order_acq_rel);
  while (true) {
    const std::uint32_t before = left.load(std::memory_order_acquire);
    // In this order: a thread that joins between the two looks is still seen inside.
    const bool all_came =
        !needs_all || num_joined.load(std::memory_order_acquire) == num_threads - 1;
    const bool is_empty = (joining.load(std::memory_order_acquire) & kInside) == 0;
    if (is_empty && all_came) return;
    WaitWhile(left, before, spin);
  }
}

void ThreadPool::State::PinCaller() {
  if (cores.empty() || pinned_caller == std::this_thread::get_id()) return;
  PinThisThread(cores[0]);
  pinned_caller = std::this_thread::get_id();
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  const std::vector<int> cores = UsableCores();
  const int num_cores = static_cast<int>(cores.size());
  state.num_threads = options.num_threads > 0 ? options.num_threads : num_cores;
  state.spin = state.num_threads <= num_cores;
  if (options.pin && state.num_threads > 1 && state.spin) state.cores = cores;
  state.cursors = std::make_unique<Cursor[]>(static_cast<std::size_t>(state.num_threads));
  for (int i = 1; i < state.num_threads; ++i) {
    state.threads.emplace_back([&state, i] { state.Work(i); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_relaxed);
  state_->run.fetch_add(1, std::memory_order_release);
  state_->run.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int ThreadPool::num_threads() const { return state_->num_threads; }

void ThreadPool::Run(const ThreadTask& task) {
  if (state_->num_threads == 1) {
    task(0, 1);
    return;
  }
  state_->Start(task);
  task(0, state_->num_threads);
  state_->Finish(/*needs_all=*/true);
}

ThreadPool::Cursor* ThreadPool::DealShares(std::int64_t count) {
  Cursor* cursors = state_->cursors.get();
  for (int i = 0; i < num_threads(); ++i) {
    const Range share = ShareOf(count, i, num_threads());
    cursors[i].next.store(share.begin, std::memory_order_relaxed);
    cursors[i].end = share.end;
  }
  return cursors;
}

void ThreadPool::RunWithHelp(const ThreadTask& task) {
  state_->Start(task);
  task(0, state_->num_threads);
  state_->Finish(/*needs_all=*/false);
}

void ThreadPool::Barrier() {
  State& state = *state_;
  if (state.num_threads == 1) return;
  const std::uint32_t before = state.barrier_epoch.load(std::memory_order_acquire);
  if (state.num_arrived.fetch_add(1, std::memory_order_acq_rel) == state.num_threads - 1) {
    state.num_arrived.store(0, std::memory_order_relaxed);
    state.barrier_epoch.store(before + 1, std::memory_order_release);
    state.barrier_epoch.notify_all();
  } else {
    WaitWhile(state.barrier_epoch, before, state.spin);
  }
}

Range ShareOf(std::int64_t count, int thread_idx, int num_threads, std::int64_t grain) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const auto bound = [&](std::int64_t i) {
    return std::min(grains * i / num_threads * grain, count);
  };
  return {bound(thread_idx), bound(thread_idx + std::int64_t{1})};
}

}  // namespace quire
