#include "engine/stats_log.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

using std::chrono::seconds;
using Clock = StatsLog::Clock;

StepReport Step(Clock::time_point begin) {
  StepReport report;
  report.begin = begin;
  report.end = begin + seconds(1);
  report.num_rows = 2;
  report.num_prefill_rows = 1;
  report.num_prefill_tokens = 100;
  report.scheduler.num_running = 2;
  report.scheduler.num_waiting = 1;
  report.scheduler.num_used_blocks = 1;
  report.scheduler.num_total_blocks = 8;
  report.scheduler.prefix_queries = 200;
  report.scheduler.prefix_hits = 50;
  return report;
}

TEST(StatsLog, IsDueOnlyAfterAStepThatComputed) {
  const Clock::time_point now{};
  StatsLog log(seconds(10));
  EXPECT_FALSE(log.due());
  log.NoteStep({}, {});
  EXPECT_FALSE(log.due());
  log.NoteStep(Step(now), {});
  log.NoteStep(Step(now + seconds(3)), {});
  EXPECT_EQ(log.due(), now + seconds(10));
  log.Write(now + seconds(10));
  EXPECT_FALSE(log.due());
}

TEST(StatsLog, SaysWhatTheEngineDidSinceTheLastLine) {
  const Clock::time_point now{};
  StatsLog log(seconds(10));
  std::vector<EngineCoreOutput> outputs(2);
  outputs[0].new_tokens = {1, 2};
  outputs[1].new_tokens = {3};
  log.NoteStep(Step(now), outputs);
  EXPECT_EQ(log.Describe(now + seconds(10)),
            "Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 0.3 "
            "tokens/s, Running: 2 reqs, Waiting: 1 reqs, GPU KV cache usage: 12.5%, Prefix cache "
            "hit rate: 25.0%");
  log.Write(now + seconds(10));
  log.NoteStep(Step(now + seconds(20)), {});
  EXPECT_NE(log.Describe(now + seconds(30)).find("Avg prompt throughput: 10.0"), std::string::npos);
}

}  // namespace
}  // namespace quire
