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

}  // namespace

// The fields that change under load stand on cache lines of their own.
struct ThreadPool::State {
  // Constant after construction.
  int num_threads = 1;
  bool spin = true;        // each thread has a core
  std::vector<int> cores;  // to pin to, empty: do not
  std::vector<std::thread> threads;

  // Of the thread that calls Run.
  const ThreadTask* task = nullptr;  // published by `epoch`
  std::optional<std::thread::id> pinned_caller;

  alignas(kCacheLine) std::atomic<std::uint32_t> epoch = 0;  // one up for each Run
  std::atomic<bool> stop = false;                            // published by `epoch`
  alignas(kCacheLine) std::atomic<int> num_running = 0;      // workers, without the caller
  std::atomic<std::uint32_t> finished_epoch = 0;
  alignas(kCacheLine) std::atomic<int> num_arrived = 0;  // at the barrier
  std::atomic<std::uint32_t> barrier_epoch = 0;

  void Work(int thread_idx);
  void PinCaller();
};

void ThreadPool::State::Work(int thread_idx) {
  if (!cores.empty()) PinThisThread(cores[static_cast<std::size_t>(thread_idx)]);
  for (std::uint32_t seen = 0;; ++seen) {
    WaitWhile(epoch, seen, spin);
    if (stop.load(std::memory_order_relaxed)) return;
    (*task)(thread_idx, num_threads);
    if (num_running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      finished_epoch.store(seen + 1, std::memory_order_release);
      finished_epoch.notify_one();
    }
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
  for (int i = 1; i < state.num_threads; ++i) {
    state.threads.emplace_back([&state, i] { state.Work(i); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_relaxed);
  state_->epoch.fetch_add(1, std::memory_order_release);
  state_->epoch.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int ThreadPool::num_threads() const { return state_->num_threads; }

void ThreadPool::Run(const ThreadTask& task) {
  State& state = *state_;
  if (state.num_threads == 1) {
    task(0, 1);
    return;
  }
  state.PinCaller();
  const std::uint32_t before = state.epoch.load(std::memory_order_relaxed);
  state.task = &task;
  state.num_running.store(state.num_threads - 1, std::memory_order_relaxed);
  state.epoch.store(before + 1, std::memory_order_release);  // pairs with WaitWhile's acquire
  state.epoch.notify_all();
  task(0, state.num_threads);
  WaitWhile(state.finished_epoch, before, state.spin);
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
