// The requests that wait, in the order in which they are to be served.
#pragma once

#include <cstddef>
#include <set>

#include "config/engine_config.h"
#include "sched/request_state.h"

namespace quire {

// Ordered by rank; gives ranks as the policy wants them. Borrows the requests. Engine thread only.
// O(log n) to add and remove.
class WaitingQueue {
 private:
  struct ByRank {
    bool operator()(const RequestState* a, const RequestState* b) const {
      return a->rank < b->rank;
    }
  };
  using Set = std::set<RequestState*, ByRank>;

 public:
  using iterator = Set::const_iterator;

  explicit WaitingQueue(SchedulingPolicy policy) : policy_(policy) {}

  // A request seen for the first time.
  void PushNew(RequestState& state);
  // One that ran and lost its blocks: under fcfs before all others, under priority by its old rank.
  void PushPreempted(RequestState& state);
  void Remove(RequestState& state);
  iterator Remove(iterator it);

  iterator begin() const { return set_.begin(); }
  iterator end() const { return set_.end(); }
  std::size_t size() const { return set_.size(); }
  bool empty() const { return set_.empty(); }
  std::int64_t num_prompt_tokens() const { return num_prompt_tokens_; }  // of all of them

 private:
  void Insert(RequestState& state);

  SchedulingPolicy policy_;
  Set set_;
  std::int64_t num_prompt_tokens_ = 0;
  std::int64_t next_order_ = 0;
  std::int64_t front_order_ = 0;
};

}  // namespace quire
