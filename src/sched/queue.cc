#include "sched/queue.h"

#include "base/log.h"

namespace quire {

void WaitingQueue::PushNew(RequestState& state) {
  state.rank = Rank{.order = next_order_++};
  if (policy_ == SchedulingPolicy::kPriority) {
    state.rank.priority = state.request.priority;
    state.rank.arrival = state.request.arrival;
  }
  Insert(state);
}

void WaitingQueue::PushPreempted(RequestState& state) {
  if (policy_ == SchedulingPolicy::kFcfs) state.rank.order = --front_order_;
  Insert(state);
}

void WaitingQueue::Insert(RequestState& state) {
  set_.insert(&state);
  num_prompt_tokens_ += state.num_prompt_tokens;
}

void WaitingQueue::Remove(RequestState& state) {
  const auto it = set_.find(&state);
  QUIRE_CHECK(it != set_.end()) << "request " << state.request.id.value() << " does not wait";
  Remove(it);
}

WaitingQueue::iterator WaitingQueue::Remove(iterator it) {
  num_prompt_tokens_ -= (*it)->num_prompt_tokens;
  return set_.erase(it);
}

}  // namespace quire
