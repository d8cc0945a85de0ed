#include "engine/engine_metrics.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/test_data.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

KvCachePlan Plan() {
  return {
      .num_blocks = 513, .block_size = 16, .max_model_len = 8192, .max_rows = 0, .max_requests = 0};
}

class EngineMetricsTest : public testing::Test {
 protected:
  EngineMetricsTest()
      : metrics_({.model_name = "model", .num_traces = 8}, EngineConfig(),
                 NullExecutor::SmallFacts(1024, 8192), Plan()) {}

  // What the page says of a series; -1: nothing.
  double Value(const std::string& series) {
    const std::string page = metrics_.Expose();
    for (const std::string_view line : Split(page, '\n')) {
      if (line.starts_with(StrCat(series, " "))) {
        return std::stod(std::string(line.substr(series.size() + 1)));
      }
    }
    return -1;
  }
  double Of(const std::string& name) { return Value(name + R"({engine="0",model_name="model"})"); }

  EngineMetrics metrics_;
};

// One metric as the page or the list of the original describes it.
struct Described {
  std::string type;
  std::set<std::string> labels;
  std::string bounds;  // of a histogram
};

std::set<std::string> LabelNames(std::string_view labels) {
  std::set<std::string> names;
  for (std::size_t at = 0; (at = labels.find("=\"", at)) != std::string_view::npos; ++at) {
    const std::size_t begin = labels.find_last_of("{,", at) + 1;
    names.insert(std::string(labels.substr(begin, at - begin)));
  }
  return names;
}

std::map<std::string, Described> Describe(const std::string& page) {
  std::map<std::string, Described> all;
  std::string name;
  std::set<std::string> bounds_seen;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with("# TYPE ")) {
      const auto words = Split(line, ' ');
      name = words[2];
      all[name].type = words[3];
    } else if (!line.empty() && line[0] != '#') {
      Described& described = all[name];
      std::set<std::string> labels = LabelNames(line);
      const std::size_t bound = line.find("le=\"");
      if (bound != std::string_view::npos) {
        const std::string_view rest = line.substr(bound + 4);
        const std::string text(rest.substr(0, rest.find('"')));
        if (!bounds_seen.insert(name + text).second) continue;
        described.bounds += (described.bounds.empty() ? "" : ",") + text;
        labels.erase("le");
      }
      described.labels.insert(labels.begin(), labels.end());
    }
  }
  return all;
}

// Metrics of the original that are not the engine's, or that there is nothing to count for.
bool IsElsewhere(std::string_view name) {
  for (const char* prefix : {"python_", "http_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

TEST_F(EngineMetricsTest, HaveTheOriginalsNamesTypesLabelsAndBuckets) {
  const auto path = TestDataPath("compat/metrics.tsv");
  std::ifstream list(path);
  if (!list) GTEST_SKIP() << "no " << path << "; set QUIRE_TEST_DATA";
  const auto ours = Describe(metrics_.Expose());
  std::string line;
  std::getline(list, line);
  int num_compared = 0;
  while (std::getline(list, line)) {
    const auto fields = Split(line, '\t');
    const std::string name(fields[0]);
    if (IsElsewhere(name)) continue;
    const auto found = ours.find(name);
    ASSERT_NE(found, ours.end()) << name << " is missing";
    EXPECT_EQ(found->second.type, fields[1]) << name;
    EXPECT_EQ(found->second.bounds, fields[3]) << name;
    ++num_compared;
    std::set<std::string> labels;
    for (const std::string_view label : Split(fields[2], ',')) {
      if (!label.empty()) labels.insert(std::string(label));
    }
    EXPECT_EQ(found->second.labels, labels) << name;
  }
  EXPECT_GT(num_compared, 60);
}

AnswerStats Answer(Clock::time_point arrival) {
  AnswerStats stats;
  stats.times.arrival = arrival;
  stats.times.queued = arrival + milliseconds(1);
  stats.times.scheduled = arrival + milliseconds(501);
  stats.times.first_token = stats.times.last_token = arrival + milliseconds(1001);
  stats.num_prompt_tokens = 100;
  stats.num_cached_tokens = 64;
  stats.num_generated_tokens = 1;
  stats.max_tokens = 16;
  stats.priority = 3;
  return stats;
}

TEST_F(EngineMetricsTest, CountAPromptWhenItsFirstTokenComes) {
  metrics_.NoteTokens(Answer(Clock::now()), 1);
  EXPECT_EQ(Of("vllm:prompt_tokens_total"), 100);
  EXPECT_EQ(Of("vllm:prompt_tokens_cached_total"), 64);
  EXPECT_EQ(Of("vllm:generation_tokens_total"), 1);
  EXPECT_EQ(Value(R"(vllm:prompt_tokens_by_source_total{engine="0",model_name="model",)"
                  R"(source="local_compute"})"),
            36);
  EXPECT_NEAR(Of("vllm:time_to_first_token_seconds_sum"), 1.001, 1e-9);
  EXPECT_NEAR(Value(R"(quire:request_queue_time_seconds_sum{engine="0",model_name="model",)"
                    R"(priority="3"})"),
              0.5, 1e-9);
}

TEST_F(EngineMetricsTest, ObserveTheWaitBetweenTwoTokens) {
  AnswerStats stats = Answer(Clock::now());
  for (const int wait : {30, 30, 40}) {
    stats.previous_token = stats.times.last_token;
    stats.times.last_token = *stats.times.last_token + milliseconds(wait);
    metrics_.NoteTokens(stats, 1);
  }
  metrics_.NoteStep({});
  EXPECT_EQ(Of("vllm:inter_token_latency_seconds_count"), 3);
  EXPECT_NEAR(Of("vllm:inter_token_latency_seconds_sum"), 0.1, 1e-9);
}

TEST_F(EngineMetricsTest, TimeOnlyAnswersThatEndedByThemselves) {
  AnswerStats stats = Answer(Clock::now());
  metrics_.NoteEnd(stats, FinishReason::kAbort);
  EXPECT_EQ(Of("vllm:e2e_request_latency_seconds_count"), 0);
  stats.num_generated_tokens = 5;
  stats.times.last_token = *stats.times.first_token + milliseconds(400);
  metrics_.NoteEnd(stats, FinishReason::kLength);
  EXPECT_NEAR(Of("vllm:e2e_request_latency_seconds_sum"), 1.401, 1e-9);
  EXPECT_NEAR(Of("vllm:request_queue_time_seconds_sum"), 0.5, 1e-9);
  EXPECT_NEAR(Of("vllm:request_prefill_time_seconds_sum"), 0.5, 1e-9);
  EXPECT_NEAR(Of("vllm:request_decode_time_seconds_sum"), 0.4, 1e-9);
  EXPECT_NEAR(Of("vllm:request_inference_time_seconds_sum"), 0.9, 1e-9);
  EXPECT_NEAR(Of("vllm:request_time_per_output_token_seconds_sum"), 0.1, 1e-9);
  for (const char* reason : {"abort", "length"}) {
    EXPECT_EQ(Value(StrCat("vllm:request_success_total{engine=\"0\",finished_reason=\"", reason,
                           "\",model_name=\"model\"}")),
              1);
  }
}

TEST_F(EngineMetricsTest, ShowTheStateAfterTheLastStep) {
  StepReport report;
  report.end = report.begin + milliseconds(10);
  report.scheduler.num_running = 3;
  report.scheduler.num_waiting = 2;
  report.scheduler.num_used_blocks = 128;
  report.scheduler.num_total_blocks = 512;
  report.scheduler.num_used_by_group[0] = 128;
  report.scheduler.num_preemptions = 7;
  report.num_rows = 3;
  report.num_tokens = 34;
  report.num_prefill_rows = 1;
  report.num_prefill_tokens = 32;
  metrics_.NoteStep(report);
  metrics_.NoteStep(report);
  EXPECT_EQ(Of("vllm:num_requests_running"), 3);
  EXPECT_EQ(Of("vllm:num_requests_waiting"), 2);
  EXPECT_EQ(Of("vllm:kv_cache_usage_perc"), 0.25);
  EXPECT_EQ(Of("vllm:num_preemptions_total"), 7);
  EXPECT_EQ(Of("vllm:iteration_tokens_total_sum"), 68);
  EXPECT_NEAR(Of("quire:step_time_seconds_sum"), 0.02, 1e-9);
  EXPECT_EQ(Value(R"(quire:step_tokens_total{engine="0",model_name="model",phase="decode"})"), 4);
  EXPECT_EQ(Value(R"(quire:kv_blocks_used{attention="full",engine="0",group="0",)"
                  R"(model_name="model"})"),
            128);
}

TEST_F(EngineMetricsTest, TellWaitingRequestsApartByWhatTheyWaitFor) {
  const auto waiting = [&](const char* reason) {
    return Value(
        StrCat("vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"model\",reason=\"",
               reason, "\"}"));
  };
  EXPECT_EQ(waiting("deferred"), 0);
  StepReport report;
  report.scheduler.num_waiting = 5;
  report.scheduler.num_set_aside = 2;
  metrics_.NoteStep(report);
  EXPECT_EQ(waiting("capacity"), 3);
  EXPECT_EQ(waiting("deferred"), 2);
  metrics_.NoteDeferred(3);  // no step is needed
  EXPECT_EQ(waiting("capacity"), 3);
  EXPECT_EQ(waiting("deferred"), 5);
  EXPECT_EQ(Of("vllm:num_requests_waiting"), 8);
  metrics_.NoteDeferred(-3);
  EXPECT_EQ(Of("vllm:num_requests_waiting"), 5);
}

TEST_F(EngineMetricsTest, EstimateWhatStepsComputeReadAndWrite) {
  ModelFacts facts = NullExecutor::SmallFacts(1024, 8192);
  facts.cost = {.per_token = 100, .per_logits_row = 10, .per_pair = 1};
  facts.weight_bytes = 5000;
  facts.kv_element = {.value_bytes = 2};  // of one layer, one head, one value in key and value
  EngineMetrics metrics({.model_name = "model"}, EngineConfig(), facts, Plan());
  StepReport report;
  report.num_rows = 2;
  report.num_tokens = 4;
  report.num_logit_rows = 2;
  report.num_positions = 50;
  report.num_pairs = 70;
  metrics.NoteStep(report);
  const std::string page = metrics.Expose();
  for (const char* line : {"flops_per_gpu_total{engine=\"0\",model_name=\"model\"} 980.0\n",
                           "read_bytes_per_gpu_total{engine=\"0\",model_name=\"model\"} 5200.0\n",
                           "write_bytes_per_gpu_total{engine=\"0\",model_name=\"model\"} 16.0\n"}) {
    EXPECT_NE(page.find(StrCat("vllm:estimated_", line)), std::string::npos) << line;
  }
}

TEST_F(EngineMetricsTest, CountWhatIsLookedThroughForToolCalls) {
  const auto count = [&](const char* mode, const char* outcome, const char* api) {
    return Value(StrCat("vllm:tool_call_parser_invocations_total{mode=\"", mode,
                        "\",model_name=\"model\",outcome=\"", outcome, "\",request_type=\"", api,
                        "\"}"));
  };
  EXPECT_EQ(count("streaming", "tool_call", "responses"), 0);
  metrics_.NoteToolParsing(true, true, "responses");
  metrics_.NoteToolParsing(false, false, "chat_completions");
  EXPECT_EQ(count("streaming", "tool_call", "responses"), 1);
  EXPECT_EQ(count("non_streaming", "no_tool_call", "chat_completions"), 1);
  EXPECT_EQ(count("non_streaming", "tool_call", "chat_completions"), 0);
}

TEST_F(EngineMetricsTest, TellHowDeepTheEngineSleeps) {
  const auto state = [&](const char* name) {
    return Value(StrCat("vllm:engine_sleep_state{engine=\"0\",model_name=\"model\",sleep_state=\"",
                        name, "\"}"));
  };
  EXPECT_EQ(state("awake"), 1);
  metrics_.SetSleepLevel(1);
  EXPECT_EQ(state("awake"), 0);
  EXPECT_EQ(state("weights_offloaded"), 1);
}

}  // namespace
}  // namespace quire
