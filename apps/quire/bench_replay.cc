// quire bench replay: what the scheduler would do with a recorded trace of arrivals.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "apps/quire/bench.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/io.h"
#include "base/percentile.h"
#include "base/strings.h"
#include "engine/trace_replay.h"

namespace quire {

namespace {

constexpr std::array<std::string_view, 13> kEngineFlags = {"max-num-batched-tokens",
                                                           "max-num-seqs",
                                                           "long-prefill-token-threshold",
                                                           "max-num-partial-prefills",
                                                           "max-long-partial-prefills",
                                                           "enable-chunked-prefill",
                                                           "scheduling-policy",
                                                           "max-num-queued-reqs",
                                                           "block-size",
                                                           "enable-prefix-caching",
                                                           "prefix-caching-hash-algo",
                                                           "num-gpu-blocks-override",
                                                           "max-model-len"};

struct ReplayFlags {
  EngineConfig config;
  std::string step_time = "0.002";
  std::string token_time = "0.00005";
  bool json = false;
  bool summary_only = false;
};

FlagSet MakeFlags(ReplayFlags& options) {
  FlagSet flags("bench replay TRACE [flags]",
                "Runs a recorded trace of arrivals, one JSON object a line (docs/traces.md; - is "
                "standard input), through the scheduler in virtual time and prints the plan of "
                "each step: for every request the tokens it had computed and those it gets, * "
                "where it samples. No model is needed.");
  flags.Group("Time");
  flags.Add("step-time", options.step_time, "Seconds that each step takes", "SECONDS");
  flags.Add("token-time", options.token_time, "Seconds that each token takes besides", "SECONDS");
  flags.Group("Output");
  flags.Add("json", options.json, "One JSON object a step and line, the summary last");
  flags.Add("summary", options.summary_only, "The summary alone");
  AddEngineFlags(flags, options.config, kEngineFlags);
  flags.AddExample("quire bench replay trace.jsonl --num-gpu-blocks-override 512");
  return flags;
}

Result<double> Duration(const char* name, const std::string& text) {
  const auto seconds = ParseNumber<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds <= 1e6)) {
    return InvalidArgument(StrCat("--", name, ": must be seconds, got ", Printable(text)));
  }
  return *seconds;
}

// Unless it is said, there is room for sixteen requests of full length.
Result<ReplayOptions> ToOptions(const ReplayFlags& flags) {
  constexpr int kDefaultLength = 8192;
  constexpr int kDefaultRequests = 16;
  QUIRE_RETURN_IF_ERROR(flags.config.Validate());
  ReplayOptions options;
  QUIRE_ASSIGN_OR_RETURN(options.step_seconds, Duration("step-time", flags.step_time));
  QUIRE_ASSIGN_OR_RETURN(options.token_seconds, Duration("token-time", flags.token_time));
  SchedulerConfig& scheduler = options.scheduler;
  scheduler.options = flags.config.scheduler;
  scheduler.block_size = flags.config.cache.block_size;
  scheduler.enable_prefix_caching = flags.config.cache.enable_prefix_caching;
  scheduler.prefix_hash_algo = flags.config.cache.prefix_caching_hash_algo;
  scheduler.max_model_len = kDefaultLength;
  const std::string& length = flags.config.model.max_model_len;
  if (!length.empty()) {
    const auto given = ParseNumber<std::int32_t>(length);
    if (!given || *given < 2) {
      return InvalidArgument(
          StrCat("--max-model-len: must be tokens, 2 or more, got ", Printable(length)));
    }
    scheduler.max_model_len = *given;
  }
  const std::int64_t each = scheduler.max_model_len / scheduler.block_size + 1;
  scheduler.num_blocks =
      flags.config.cache.num_gpu_blocks_override.value_or(kDefaultRequests * each + 1);
  return options;
}

std::string StepText(const ReplayStep& step) {
  std::string line =
      StrCat("step ", step.number, "  ", Fixed(step.begin, 4), " s  ", step.num_tokens,
             " tokens  running ", step.stats.num_running, "  waiting ", step.stats.num_waiting,
             "  KV ", step.stats.num_used_blocks, "/", step.stats.num_total_blocks, " |");
  for (const ReplayRow& row : step.rows) {
    line += StrCat(" ", Printable(row.id), ":", row.num_computed, "+", row.num_new,
                   row.samples ? "*" : "");
  }
  for (const auto id : step.preempted) line += StrCat("  preempted ", Printable(id));
  for (const auto id : step.finished) line += StrCat("  finished ", Printable(id));
  return line + "\n";
}

Json Names(const std::vector<std::string_view>& ids) {
  JsonArray names;
  for (const auto id : ids) names.emplace_back(id);
  return Json(std::move(names));
}

std::string StepJson(const ReplayStep& step) {
  JsonArray rows;
  for (const ReplayRow& row : step.rows) {
    JsonObject object;
    object.emplace_back("id", row.id);
    object.emplace_back("computed", row.num_computed);
    object.emplace_back("new", row.num_new);
    object.emplace_back("samples", row.samples);
    rows.emplace_back(std::move(object));
  }
  JsonObject object;
  object.emplace_back("step", step.number);
  object.emplace_back("begin", step.begin);
  object.emplace_back("end", step.end);
  object.emplace_back("tokens", step.num_tokens);
  object.emplace_back("running", step.stats.num_running);
  object.emplace_back("waiting", step.stats.num_waiting);
  object.emplace_back("kv_used", step.stats.num_used_blocks);
  object.emplace_back("rows", std::move(rows));
  object.emplace_back("preempted", Names(step.preempted));
  object.emplace_back("finished", Names(step.finished));
  return Json(std::move(object)).Dump() + "\n";
}

std::string SummaryText(const ReplaySummary& summary) {
  const auto times = [](const char* name, const std::vector<double>& values) {
    return StrCat(name, "  p50 ", Fixed(Median(values), 4), " s  p99 ",
                  Fixed(Percentile(values, 99), 4), " s\n");
  };
  return StrCat(summary.num_steps, " steps in ", Fixed(summary.seconds, 3),
                " s: ", summary.num_finished, " finished, ", summary.num_aborted, " aborted, ",
                summary.num_refused, " refused, ", summary.num_output_tokens, " output tokens\n",
                times("time to first token", summary.first_token_seconds),
                times("time to the end    ", summary.total_seconds), "preemptions ",
                summary.stats.num_preemptions, ", prefix cache ", summary.stats.prefix_hits, " of ",
                summary.stats.prefix_queries, " tokens hit\n");
}

std::string SummaryJson(const ReplaySummary& summary) {
  JsonObject object;
  object.emplace_back("steps", summary.num_steps);
  object.emplace_back("seconds", summary.seconds);
  object.emplace_back("finished", summary.num_finished);
  object.emplace_back("aborted", summary.num_aborted);
  object.emplace_back("refused", summary.num_refused);
  object.emplace_back("output_tokens", summary.num_output_tokens);
  object.emplace_back("preemptions", summary.stats.num_preemptions);
  object.emplace_back("prefix_queries", summary.stats.prefix_queries);
  object.emplace_back("prefix_hits", summary.stats.prefix_hits);
  object.emplace_back("p50_ttft_s", Median(summary.first_token_seconds));
  object.emplace_back("p99_ttft_s", Percentile(summary.first_token_seconds, 99));
  object.emplace_back("p50_e2el_s", Median(summary.total_seconds));
  object.emplace_back("p99_e2el_s", Percentile(summary.total_seconds, 99));
  return Json(JsonObject{{"summary", Json(std::move(object))}}).Dump() + "\n";
}

}  // namespace

Status RunBenchReplay(Args args) {
  ReplayFlags options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  if (flags.positionals().size() != 1) {
    return InvalidArgument("bench replay: takes one file, the trace; - is standard input");
  }
  const std::string& path = flags.positionals()[0];
  QUIRE_ASSIGN_OR_RETURN(const ReplayOptions replay, ToOptions(options));
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  Result<std::vector<TraceRequest>> trace = ParseTrace(text);
  if (!trace.ok()) return trace.status().With(Printable(path));
  Writer out(STDOUT_FILENO, "standard output");
  QUIRE_ASSIGN_OR_RETURN(const ReplaySummary summary,
                         ReplayTrace(*trace, replay, [&](const ReplayStep& step) {
                           if (options.summary_only) return Status();
                           return out.Write(options.json ? StepJson(step) : StepText(step));
                         }));
  QUIRE_RETURN_IF_ERROR(out.Write(options.json ? SummaryJson(summary) : SummaryText(summary)));
  return out.Flush();
}

}  // namespace quire
