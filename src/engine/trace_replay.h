// Runs a recorded trace of arrivals through the real scheduler in virtual time, without a model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sched/scheduler.h"

namespace quire {

// One line of a trace; docs/traces.md describes the format.
struct TraceRequest {
  double arrival = 0;  // seconds from the trace's begin
  std::string id;
  int num_prompt_tokens = 0;
  int num_output_tokens = 0;
  std::string prefix;           // prompts of one prefix begin with the same tokens
  int num_prefix_tokens = 0;    // of them
  int priority = 0;             // lower goes first, policy `priority` only
  std::optional<double> abort;  // when the client leaves
};

// By arrival. kInvalidArgument names the line and the field.
Result<std::vector<TraceRequest>> ParseTrace(std::string_view text);

struct ReplayOptions {
  SchedulerConfig scheduler;       // its kv_spec may be empty: one group of full attention
  double step_seconds = 0.002;     // that each step takes,
  double token_seconds = 0.00005;  // and each token it computes besides
};

struct ReplayRow {
  std::string_view id;
  int num_computed = 0;  // before the step
  int num_new = 0;
  bool samples = false;
};

struct ReplayStep {
  std::int64_t number = 0;
  double begin = 0;  // seconds
  double end = 0;
  int num_tokens = 0;
  std::vector<ReplayRow> rows;
  std::vector<std::string_view> preempted;
  std::vector<std::string_view> finished;
  SchedulerStats stats;  // after the step was planned
};

struct ReplaySummary {
  std::int64_t num_steps = 0;
  double seconds = 0;
  std::int64_t num_finished = 0;
  std::int64_t num_aborted = 0;
  std::int64_t num_refused = 0;
  std::int64_t num_output_tokens = 0;
  SchedulerStats stats;
  std::vector<double> first_token_seconds;  // from arrival, rising; of those that got one
  std::vector<double> total_seconds;        // likewise, of those that finished
};

// Calls `on_step` for each step; it stays valid until the next one. The same trace and options give
// the same steps. kInvalidArgument: the options contradict each other.
Result<ReplaySummary> ReplayTrace(const std::vector<TraceRequest>& trace, ReplayOptions options,
                                  const std::function<Status(const ReplayStep&)>& on_step);

}  // namespace quire
