#include "sched/queue.h"

#include <vector>

#include <gtest/gtest.h>

namespace quire {
namespace {

RequestState StateOf(std::int64_t id, int priority = 0, int arrival = 0) {
  RequestState state;
  state.request.id = RequestId(id);
  state.request.priority = priority;
  state.request.arrival = std::chrono::steady_clock::time_point(std::chrono::seconds(arrival));
  return state;
}

std::vector<std::int64_t> IdsOf(const WaitingQueue& queue) {
  std::vector<std::int64_t> ids;
  for (const RequestState* state : queue) ids.push_back(state->request.id.value());
  return ids;
}

TEST(WaitingQueue, FcfsKeepsTheOrderOfArrivalAndPutsPreemptedOnesFirst) {
  WaitingQueue queue(SchedulingPolicy::kFcfs);
  RequestState a = StateOf(1, 9), b = StateOf(2, 1), c = StateOf(3), d = StateOf(4);
  for (RequestState* state : {&a, &b, &c, &d}) queue.PushNew(*state);
  EXPECT_EQ(IdsOf(queue), (std::vector<std::int64_t>{1, 2, 3, 4}));
  queue.Remove(b);
  queue.Remove(c);
  // They ran in the order 2, 3 and are preempted from the end.
  queue.PushPreempted(c);
  queue.PushPreempted(b);
  EXPECT_EQ(IdsOf(queue), (std::vector<std::int64_t>{2, 3, 1, 4}));
}

TEST(WaitingQueue, PriorityOrdersByNumberThenArrivalThenOrder) {
  WaitingQueue queue(SchedulingPolicy::kPriority);
  RequestState a = StateOf(1, 5, 9), b = StateOf(2, 5, 3), c = StateOf(3, -1, 50);
  RequestState d = StateOf(4, 5, 9);
  for (RequestState* state : {&a, &b, &c, &d}) queue.PushNew(*state);
  EXPECT_EQ(IdsOf(queue), (std::vector<std::int64_t>{3, 2, 1, 4}));
  queue.Remove(a);
  queue.PushPreempted(a);
  EXPECT_EQ(IdsOf(queue), (std::vector<std::int64_t>{3, 2, 1, 4}));
}

}  // namespace
}  // namespace quire
