// Bounds of what one grammar, or one mask of it, may cost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "base/status.h"

namespace quire {

// What is thrown through the backend's code, and no further, where a bound is reached.
class WorkBudgetSpent : public std::exception {
 public:
  const char* what() const noexcept override { return "a bound of its work is reached"; }
};

// While one lives, what the backend's library allocates on this thread counts against it. Many
// allocations are a measure of work that, unlike time, is the same on every run.
class WorkBudget {
 public:
  struct Limits {
    // Of this thread's processor time, so that what else the machine does changes nothing.
    std::chrono::nanoseconds max_time = std::chrono::nanoseconds::max();
    std::int64_t max_allocations = INT64_MAX;
    std::int64_t max_bytes = INT64_MAX;  // allocated and not yet given back
  };
  enum class Bound { kNone, kTime, kAllocations, kBytes };

  explicit WorkBudget(const Limits& limits);
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // Throws WorkBudgetSpent where a bound is reached, once: what then tidies up is let be.
  void Take(std::size_t num_bytes);
  void GiveBack(std::size_t num_bytes) { num_bytes_ -= static_cast<std::int64_t>(num_bytes); }

  // For loops that allocate nothing there: kResourceExhausted once one of the bounds of this
  // thread's budget is reached.
  static Status Check();

  Bound spent() const { return spent_; }
  // Counts from the first Check, or from the first few hundred allocations: short work is free.
  std::chrono::nanoseconds time_used() const;
  std::int64_t num_bytes() const { return num_bytes_; }

 private:
  void LookAtClock();

  const Limits limits_;
  WorkBudget* const outer_;
  Bound spent_ = Bound::kNone;
  std::int64_t num_bytes_ = 0;
  std::int64_t num_allocations_ = 0;
  std::optional<std::chrono::nanoseconds> begin_;  // of the thread's clock
};

}  // namespace quire
