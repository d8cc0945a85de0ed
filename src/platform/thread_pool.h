// The compute threads: one function at a time, run by all of them at once.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace quire {

// A borrowed callable `void(std::int64_t item, int thread_idx)`: two pointers, no allocation.
class ItemTask {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ItemTask>)
      // The constraint keeps copies apart, and a task is made at the call.
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      ItemTask(F&& function)
      : object_(const_cast<void*>(static_cast<const void*>(&function))),
        call_([](void* object, std::int64_t item, int thread_idx) {
          (*static_cast<std::remove_reference_t<F>*>(object))(item, thread_idx);
        }) {}
  void operator()(std::int64_t item, int thread_idx) const { call_(object_, item, thread_idx); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, int);
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

  // Calls task(thread_idx, num_threads()) on every thread at once and returns when all are back.
  template <typename F>
  void Run(const F& task) {
    const int threads = num_threads();
    RunItems(
        threads, [&](std::int64_t, int thread_idx) { task(thread_idx, threads); },
        /*may_steal=*/false);
  }

  // Calls function(i, thread_idx) once for each i in [0, count). Each thread goes through a share
  // of neighbours in order, so that memory which they read in order streams, and then takes what
  // others have left. Does not wait for a thread that has not begun: one that lost its core costs
  // nothing. A single call is made by the caller.
  template <typename F>
  void ForEach(std::int64_t count, const F& function) {
    if (count <= 1 || num_threads() == 1) {
      for (std::int64_t i = 0; i < count; ++i) function(i, 0);
    } else {
      RunItems(count, function, /*may_steal=*/true);
    }
  }

 private:
  // Where threads may not steal, each of them must come for its own share.
  void RunItems(std::int64_t count, const ItemTask& task, bool may_steal);

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
