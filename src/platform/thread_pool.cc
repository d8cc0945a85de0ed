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

// Long enough to bridge the serial work between two operators and, with few requests, between two
// steps; short enough that an idle pool leaves its cores to others.
constexpr auto kSpinTime = std::chrono::microseconds(200);
constexpr int kSpinsBetweenClockReads = 32;
constexpr int kCacheLine = 64;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
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

// Spins until `is_over()`; false when it has not come after kSpinTime.
template <typename F>
bool SpinUntil(const F& is_over) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kSpinsBetweenClockReads; ++i) {
      if (is_over()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// A count that belongs to a run, in one word: what another run left there counts as nothing.
constexpr std::uint64_t Tagged(std::uint32_t run, std::uint64_t count) {
  return (std::uint64_t{run} << 32) | count;
}
constexpr std::uint32_t RunOf(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::int64_t CountOf(std::uint64_t word) {
  return static_cast<std::int64_t>(word & 0xFFFFFFFF);
}

}  // namespace

// Cores far apart take longer to pass a cache line than to compute a small product, so a run passes
// as few as can be: the job, which its caller writes, and for each thread one with what has been
// taken of its share and what it has done. A run ends when every share is taken and done, so a
// thread that comes late finds nothing to take and touches nothing else: nobody need join or leave.
struct ThreadPool::State {
  // What a run is. Its fields may be read while they change: then `number` has changed after.
  struct alignas(kCacheLine) Job {
    std::atomic<std::uint32_t> number = 0;  // of the run, even; odd while it is being written
    std::atomic<bool> may_steal = true;
    std::atomic<std::int64_t> count = 0;
    std::atomic<const ItemTask*> task = nullptr;
  };
  // Of one run, as one thread has read it.
  struct Run {
    std::uint32_t number;
    bool may_steal;
    std::int64_t count;
    const ItemTask* task;
  };
  struct alignas(kCacheLine) Share {
    std::atomic<std::uint64_t> taken = 0;  // how many of this thread's items, by whomever
    std::atomic<std::uint64_t> done = 0;   // how many items of anybody's by this thread
  };

  // Constant after construction.
  int num_threads = 1;
  bool spin = true;        // each thread has a core
  std::vector<int> cores;  // to pin to, empty: do not
  std::vector<std::thread> threads;

  std::optional<std::thread::id> pinned_caller;
  Job job;
  std::unique_ptr<Share[]> shares;  // [num_threads]
  alignas(kCacheLine) std::atomic<int> num_asleep = 0;
  std::atomic<bool> stop = false;  // published by the job's number
  alignas(kCacheLine) std::atomic<bool> caller_sleeps = false;
  std::atomic<std::uint32_t> num_woken = 0;  // what the caller sleeps on

  void Work(int thread_idx);
  void AwaitJob(std::uint32_t seen);
  std::optional<Run> ReadJob(std::uint32_t number) const;
  std::uint32_t Publish(std::int64_t count, const ItemTask& task, bool may_steal);
  void WakeSleepers();
  std::int64_t Take(int owner, Range share, const Run& run);
  std::int64_t DoShare(int owner, int thread_idx, const Run& run);
  void Help(int thread_idx, const Run& run);
  void Report(int thread_idx, const Run& run, std::int64_t num_done);
  std::int64_t DoneByOthers(std::uint32_t run) const;
  void AwaitOthers(const Run& run, std::int64_t num_items);
  void PinCaller();
};

// Takes one item of a thread's share, or gives -1: none is left, or the run is over.
std::int64_t ThreadPool::State::Take(int owner, Range share, const Run& run) {
  std::atomic<std::uint64_t>& taken = shares[static_cast<std::size_t>(owner)].taken;
  std::uint64_t word = taken.load(std::memory_order_acquire);
  while (true) {
    const bool is_begun = RunOf(word) == run.number;
    // By the time that a run is over, every word has changed that one of its threads could hold.
    if (!is_begun && job.number.load(std::memory_order_acquire) != run.number) return -1;
    const std::int64_t count = is_begun ? CountOf(word) : 0;
    if (share.begin + count >= share.end) return -1;
    const std::uint64_t next = Tagged(run.number, static_cast<std::uint64_t>(count) + 1);
    if (taken.compare_exchange_weak(word, next, std::memory_order_acq_rel)) {
      return share.begin + count;
    }
  }
}

// Does what is left of a share; how many items that was.
std::int64_t ThreadPool::State::DoShare(int owner, int thread_idx, const Run& run) {
  const Range share = ShareOf(run.count, owner, num_threads);
  std::int64_t num_done = 0;
  for (std::int64_t item = Take(owner, share, run); item >= 0; item = Take(owner, share, run)) {
    (*run.task)(item, thread_idx);
    ++num_done;
  }
  return num_done;
}

// Shows the caller what this thread has done of a run so far.
void ThreadPool::State::Report(int thread_idx, const Run& run, std::int64_t num_done) {
  // Either this sees that the caller sleeps, or the caller sees the report before it does.
  shares[static_cast<std::size_t>(thread_idx)].done.store(
      Tagged(run.number, static_cast<std::uint64_t>(num_done)), std::memory_order_seq_cst);
  if (!caller_sleeps.load(std::memory_order_seq_cst)) return;
  num_woken.fetch_add(1, std::memory_order_release);
  num_woken.notify_one();
}

void ThreadPool::State::Help(int thread_idx, const Run& run) {
  std::int64_t num_done = DoShare(thread_idx, thread_idx, run);
  if (num_done > 0) Report(thread_idx, run, num_done);
  if (!run.may_steal) return;
  for (int k = 1; k < num_threads; ++k) {
    const std::int64_t more = DoShare((thread_idx + k) % num_threads, thread_idx, run);
    if (more == 0) continue;
    num_done += more;
    Report(thread_idx, run, num_done);
  }
}

void ThreadPool::State::Work(int thread_idx) {
  if (!cores.empty()) PinThisThread(cores[static_cast<std::size_t>(thread_idx)]);
  std::uint32_t seen = 0;
  while (true) {
    AwaitJob(seen);
    if (stop.load(std::memory_order_relaxed)) return;
    const std::uint32_t number = job.number.load(std::memory_order_acquire);
    const std::optional<Run> run = ReadJob(number);
    if (!run) continue;
    seen = number;
    Help(thread_idx, *run);
  }
}

// Returns once the job's number differs from `seen`: spins, then sleeps until notified.
void ThreadPool::State::AwaitJob(std::uint32_t seen) {
  const auto has_come = [&] { return job.number.load(std::memory_order_acquire) != seen; };
  if (spin && SpinUntil(has_come)) return;
  // Either this sees the new number, or WakeSleepers sees this thread.
  num_asleep.fetch_add(1, std::memory_order_acq_rel);
  while (!has_come()) job.number.wait(seen, std::memory_order_acquire);
  num_asleep.fetch_sub(1, std::memory_order_relaxed);
}

// The job of that number; nothing when the caller has gone on to the next one.
std::optional<ThreadPool::State::Run> ThreadPool::State::ReadJob(std::uint32_t number) const {
  if (number % 2 != 0) return std::nullopt;
  const Run run = {number, job.may_steal.load(std::memory_order_acquire),
                   job.count.load(std::memory_order_acquire),
                   job.task.load(std::memory_order_acquire)};
  if (job.number.load(std::memory_order_relaxed) != number) return std::nullopt;
  return run;
}

std::uint32_t ThreadPool::State::Publish(std::int64_t count, const ItemTask& task, bool may_steal) {
  const std::uint32_t number = job.number.load(std::memory_order_relaxed) + 2;
  job.number.store(number - 1, std::memory_order_relaxed);
  // Whoever reads one of these reads the odd number, or a later one, afterwards.
  job.may_steal.store(may_steal, std::memory_order_release);
  job.count.store(count, std::memory_order_release);
  job.task.store(&task, std::memory_order_release);
  job.number.store(number, std::memory_order_release);
  // Nearly always right; WakeSleepers is sure.
  if (num_asleep.load(std::memory_order_relaxed) > 0) job.number.notify_all();
  return number;
}

// Not at once after Publish: an exchange waits until the job has reached the other cores.
void ThreadPool::State::WakeSleepers() {
  if (num_asleep.fetch_add(0, std::memory_order_acq_rel) > 0) job.number.notify_all();
}

std::int64_t ThreadPool::State::DoneByOthers(std::uint32_t run) const {
  std::int64_t num_done = 0;
  for (int i = 1; i < num_threads; ++i) {
    const std::uint64_t word =
        shares[static_cast<std::size_t>(i)].done.load(std::memory_order_seq_cst);
    if (RunOf(word) == run) num_done += CountOf(word);
  }
  return num_done;
}

// Waits until the other threads have done that many items.
void ThreadPool::State::AwaitOthers(const Run& run, std::int64_t num_items) {
  const auto is_done = [&] { return DoneByOthers(run.number) == num_items; };
  if (is_done() || (spin && SpinUntil(is_done))) return;
  caller_sleeps.store(true, std::memory_order_seq_cst);
  for (std::uint32_t before = num_woken.load(std::memory_order_acquire); !is_done();
       before = num_woken.load(std::memory_order_acquire)) {
    num_woken.wait(before, std::memory_order_acquire);
  }
  caller_sleeps.store(false, std::memory_order_relaxed);
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
  state.shares = std::make_unique<State::Share[]>(static_cast<std::size_t>(state.num_threads));
  for (int i = 1; i < state.num_threads; ++i) {
    state.threads.emplace_back([&state, i] { state.Work(i); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_relaxed);
  state_->job.number.fetch_add(1, std::memory_order_acq_rel);
  state_->job.number.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int ThreadPool::num_threads() const { return state_->num_threads; }

void ThreadPool::RunItems(std::int64_t count, const ItemTask& task, bool may_steal) {
  State& state = *state_;
  state.PinCaller();
  const std::uint32_t number = state.Publish(count, task, may_steal);
  const State::Run run = {number, may_steal, count, &task};
  std::int64_t num_done = state.DoShare(0, 0, run);
  if (state.num_threads == 1) return;
  state.WakeSleepers();
  for (int i = 1; may_steal && i < state.num_threads; ++i) num_done += state.DoShare(i, 0, run);
  state.AwaitOthers(run, count - num_done);
}

Range ShareOf(std::int64_t count, int thread_idx, int num_threads, std::int64_t grain) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const auto bound = [&](std::int64_t i) {
    return std::min(grains * i / num_threads * grain, count);
  };
  return {bound(thread_idx), bound(thread_idx + std::int64_t{1})};
}

}  // namespace quire
