#include "engine/trace_replay.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quire {
namespace {

ReplayOptions Options() {
  ReplayOptions options;
  options.scheduler.options.max_num_batched_tokens = 32;
  options.scheduler.options.max_num_seqs = 4;
  options.scheduler.num_blocks = 9;
  options.scheduler.block_size = 8;
  options.scheduler.max_model_len = 64;
  options.step_seconds = 1;
  options.token_seconds = 0;
  return options;
}

// Each step as "time: id computed+new* …", and the summary after it.
std::string Replayed(std::string_view text, ReplaySummary* summary = nullptr,
                     ReplayOptions options = Options()) {
  const auto trace = ParseTrace(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  if (!trace.ok()) return "";
  std::string out;
  const auto result = ReplayTrace(*trace, std::move(options), [&](const ReplayStep& step) {
    out += StrCat(step.begin, ":");
    for (const ReplayRow& row : step.rows) {
      out += StrCat(" ", row.id, " ", row.num_computed, "+", row.num_new, row.samples ? "*" : "");
    }
    for (const auto id : step.preempted) out += StrCat(" preempted ", id);
    for (const auto id : step.finished) out += StrCat(" finished ", id);
    out += "\n";
    return Status();
  });
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (result.ok() && summary != nullptr) *summary = *result;
  return out;
}

TEST(TraceReplay, ShowsThePlanOfEachStepInVirtualTime) {
  ReplaySummary summary;
  EXPECT_EQ(Replayed(R"({"id":"a","prompt":40,"output":2}
{"id":"b","arrival":0.5,"prompt":4,"output":1}

{"id":"c","arrival":20,"prompt":4,"output":1})",
                     &summary),
            "0: a 0+32\n"
            "1: a 32+8* b 0+4* finished b\n"
            "2: a 40+1* finished a\n"
            "20: c 0+4* finished c\n");
  EXPECT_EQ(summary.num_steps, 4);
  EXPECT_EQ(summary.num_finished, 3);
  EXPECT_EQ(summary.seconds, 21);
  EXPECT_EQ(summary.first_token_seconds, (std::vector<double>{1, 1.5, 2}));
  EXPECT_EQ(summary.total_seconds, (std::vector<double>{1, 1.5, 3}));
}

TEST(TraceReplay, SharesThePrefixThatLinesName) {
  ReplaySummary summary;
  EXPECT_EQ(Replayed(R"({"id":"a","prompt":20,"output":1,"prefix":"s","prefix_tokens":16}
{"id":"b","arrival":5,"prompt":20,"output":1,"prefix":"s","prefix_tokens":16})",
                     &summary),
            "0: a 0+20* finished a\n5: b 16+4* finished b\n");
  EXPECT_EQ(summary.stats.prefix_hits, 16);
}

TEST(TraceReplay, AbortsAndPreempts) {
  ReplaySummary summary;
  const std::string steps = Replayed(R"({"id":"a","prompt":24,"output":30}
{"id":"b","prompt":24,"output":30}
{"id":"c","prompt":24,"output":30,"abort":3.5})",
                                     &summary);
  EXPECT_NE(steps.find("preempted b"), std::string::npos) << steps;
  EXPECT_EQ(summary.num_finished, 2);
  EXPECT_EQ(summary.num_aborted, 1);
  EXPECT_GT(summary.stats.num_preemptions, 0);
}

TEST(TraceReplay, CountsRequestsThatTheEngineWouldRefuse) {
  ReplaySummary summary;
  EXPECT_EQ(Replayed(R"({"prompt":64})", &summary), "");
  EXPECT_EQ(summary.num_refused, 1);
}

TEST(TraceReplay, NamesTheLineAndTheMemberThatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto trace = ParseTrace(text);
    return trace.ok() ? std::string() : trace.status().message();
  };
  EXPECT_EQ(message("{}\n{\"prompt\":0}"),
            "line 2: prompt: must be an integer from 1 to 16777216, got 0");
  EXPECT_EQ(message("{\"promt\":1}"), "line 1: unknown member promt");
  EXPECT_EQ(message("{\"arrival\":-1}"), "line 1: arrival: must be seconds, 0 or more, got -1");
  EXPECT_EQ(message("{\"id\":\"a\"}\n{\"id\":\"a\"}"), "line 2: id: a stands twice");
  EXPECT_EQ(message("{\"prompt\":3,\"prefix_tokens\":4}"),
            "line 1: prefix_tokens: must be at most the prompt's 3, got 4");
  EXPECT_EQ(message("[1]"), "line 1: must be an object, got an array");
}

}  // namespace
}  // namespace quire
