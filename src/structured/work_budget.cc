#include "structured/work_budget.h"

#include <new>

#include <time.h>

namespace quire {
namespace {

constexpr std::int64_t kAllocationsALook = 256;  // at the clock

std::chrono::nanoseconds ThreadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

thread_local WorkBudget* current_budget = nullptr;

}  // namespace

WorkBudget::WorkBudget(const Limits& limits) : limits_(limits), outer_(current_budget) {
  current_budget = this;
}

WorkBudget::~WorkBudget() { current_budget = outer_; }

void WorkBudget::Take(std::size_t num_bytes) {
  ++num_allocations_;
  num_bytes_ += static_cast<std::int64_t>(num_bytes);
  if (spent_ != Bound::kNone) return;
  if (num_bytes_ > limits_.max_bytes) {
    spent_ = Bound::kBytes;
  } else if (num_allocations_ > limits_.max_allocations) {
    spent_ = Bound::kAllocations;
  } else if (num_allocations_ % kAllocationsALook == 0) {
    LookAtClock();
  }
  if (spent_ == Bound::kNone) return;
  num_bytes_ -= static_cast<std::int64_t>(num_bytes);
  throw WorkBudgetSpent();
}

void WorkBudget::LookAtClock() {
  if (limits_.max_time == std::chrono::nanoseconds::max()) return;
  if (!begin_) begin_ = ThreadTime();
  if (spent_ == Bound::kNone && time_used() > limits_.max_time) spent_ = Bound::kTime;
}

std::chrono::nanoseconds WorkBudget::time_used() const {
  return begin_ ? ThreadTime() - *begin_ : std::chrono::nanoseconds(0);
}

Status WorkBudget::Check() {
  if (current_budget == nullptr) return {};
  current_budget->LookAtClock();
  return current_budget->spent_ == Bound::kNone ? Status()
                                                : ResourceExhausted(WorkBudgetSpent().what());
}

}  // namespace quire

// The library's operator new and delete: tools/get_xgrammar.sh gives them these names.
extern "C" void* quire_xgrammar_new(std::size_t num_bytes);
extern "C" void quire_xgrammar_delete(void* memory, std::size_t num_bytes);

extern "C" void* quire_xgrammar_new(std::size_t num_bytes) {
  if (quire::current_budget != nullptr) quire::current_budget->Take(num_bytes);
  return ::operator new(num_bytes);
}

extern "C" void quire_xgrammar_delete(void* memory, std::size_t num_bytes) {
  if (memory != nullptr && quire::current_budget != nullptr) {
    quire::current_budget->GiveBack(num_bytes);
  }
  ::operator delete(memory);  // not by size: clang 14 has no such one by default
}
