#include "sched/queue.h"

#include "base/log.h"

namespace quire {

void WaitingQueue::PushNew(RequestState& state) {
  state.rank = Rank{.order = next_order_++};
  if (policy_ == SchedulingPolicy::kPriority) {
    state.rank.priority = state.request.priority;
    state.rank.arrival = state.request.arrival;
  }
  set_.insert(&state);
}

void WaitingQueue::PushPreempted(RequestState& state) {
  if (policy_ == SchedulingPolicy::kFcfs) state.rank.order = --front_order_;
  set_.insert(&state);
}

void WaitingQueue::Remove(RequestState& state) {
  const std::size_t num_removed = set_.erase(&state);
  QUIRE_CHECK(num_removed == 1) << "request " << state.request.id.value() << " does not wait";
}

}  // namespace quire
