#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "sched/random_trace.h"

namespace quire {
namespace {

// A count from the environment: the short run of every build, or the long one.
std::int64_t StepsWanted() {
  const char* text = std::getenv("QUIRE_PROPERTY_STEPS");
  return text == nullptr ? 10000 : ParseNumber<std::int64_t>(text).value_or(10000);
}

TEST(SchedulerProperty, RandomTracesKeepEveryInvariantAndEveryoneFinishesAsAlone) {
  TraceReport sum;
  std::uint64_t seed = 1;
  for (; sum.num_steps < StepsWanted(); ++seed) {
    const TraceReport report = RunRandomTrace(seed);
    ASSERT_EQ(report.fault, "");
    sum.num_steps += report.num_steps;
    sum.num_preemptions += report.num_preemptions;
    sum.num_hits += report.num_hits;
    sum.num_finished += report.num_finished;
  }
  std::printf("%llu seeds, %lld steps, %lld requests, %lld preemptions, %lld tokens hit\n",
              static_cast<unsigned long long>(seed - 1), static_cast<long long>(sum.num_steps),
              static_cast<long long>(sum.num_finished), static_cast<long long>(sum.num_preemptions),
              static_cast<long long>(sum.num_hits));
  // A trace that never gets into trouble proves nothing.
  EXPECT_GT(sum.num_preemptions, sum.num_steps / 100);
  EXPECT_GT(sum.num_hits, sum.num_steps / 10);
}

}  // namespace
}  // namespace quire
