#include "engine/engine_metrics.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "metrics/process_metrics.h"

namespace quire {
namespace {

using Bounds = std::vector<double>;

// Priorities from its negative to this one are told apart; clients may send any.
constexpr int kMostPriority = 10;

Bounds FirstTokenBounds() {
  return {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
          1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
}

Bounds TokenTimeBounds() {
  return {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
          0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
}

Bounds RequestTimeBounds() {
  return {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
          30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
}

// 1, 2, 5, 10, … up to `most`.
Bounds UpTo(std::int64_t most) {
  Bounds bounds;
  for (double power = 1;; power *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit * power > static_cast<double>(most)) return bounds;
      bounds.push_back(digit * power);
    }
  }
}

// The same steps from ten microseconds to 50 s.
Bounds FineTimeBounds() {
  Bounds bounds = UpTo(5'000'000);
  for (double& bound : bounds) bound *= 1e-5;
  return bounds;
}

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void ObserveBetween(const RequestTimes::Time& begin, const RequestTimes::Time& end,
                    Histogram& histogram) {
  if (begin && end) histogram.Observe(Seconds(*end - *begin));
}

// As Python writes it, because that is what vLLM's label values are.
const char* PythonBool(bool value) { return value ? "True" : "False"; }

template <typename T>
std::string PythonOptional(const std::optional<T>& value) {
  return value ? StrCat(*value) : "None";
}

double KvBytesPerToken(const ModelFacts& facts) {
  const KvCacheSpec& spec = facts.kv_spec;
  std::size_t num_layers = 0;
  for (const KvGroupSpec& group : spec.groups) num_layers += group.layers.size();
  return static_cast<double>(num_layers) * static_cast<double>(spec.layer_bytes(facts.kv_element));
}

// Labels of vllm:cache_config_info for caches that are not kept here, as vLLM shows them where it
// keeps none either.
constexpr std::array<std::pair<const char*, const char*>, 20> kAbsentCaches = {
    {{"cache_hit_alignment_tokens", "None"},
     {"enable_mamba_shared_prefix_checkpoint", "False"},
     {"hash_block_size", "None"},
     {"kv_cache_dtype_skip_layers", "[]"},
     {"kv_cache_layout", "None"},
     {"kv_offloading_backend", "native"},
     {"kv_offloading_size", "None"},
     {"kv_sharing_fast_prefill", "False"},
     {"mamba_block_size", "None"},
     {"mamba_cache_dtype", "auto"},
     {"mamba_cache_mode", "none"},
     {"mamba_page_size_padded", "None"},
     {"mamba_ssm_cache_dtype", "auto"},
     {"prefix_cache_retention_interval", "0"},
     {"prefix_match_unit", "None"},
     {"replayssm_buffer_len", "16"},
     {"skip_page_size_padded", "None"},
     {"swa_bounded_replay", "True"},
     {"use_kda_recoverssm", "False"},
     {"use_replayssm", "False"}}};

}  // namespace

MetricInfo EngineMetrics::Info(std::string name, std::string help,
                               std::vector<std::string> labels) const {
  return {.name = std::move(name),
          .help = std::move(help),
          .labels = std::move(labels),
          .constant_labels = labels_};
}

Counter& EngineMetrics::AddCounter(std::string name, std::string help) {
  return registry_.AddCounter(Info(std::move(name), std::move(help))).With({});
}

Gauge& EngineMetrics::AddGauge(std::string name, std::string help) {
  return registry_.AddGauge(Info(std::move(name), std::move(help))).With({});
}

Histogram& EngineMetrics::AddHistogram(std::string name, std::string help, Bounds bounds) {
  MetricInfo info = Info(std::move(name), std::move(help));
  info.bounds = std::move(bounds);
  return registry_.AddHistogram(std::move(info)).With({});
}

EngineMetrics::EngineMetrics(const Options& options, const EngineConfig& config,
                             const ModelFacts& facts, const KvCachePlan& plan)
    : labels_({{"model_name", options.model_name}, {"engine", "0"}}),
      traces_(options.num_traces),
      cost_(facts.cost),
      weight_bytes_(static_cast<double>(facts.weight_bytes)),
      kv_bytes_per_token_(KvBytesPerToken(facts)),
      estimated_flops_(AddCounter("vllm:estimated_flops_per_gpu",
                                  "Operations of the matrix products, estimated")),
      estimated_read_bytes_(AddCounter("vllm:estimated_read_bytes_per_gpu",
                                       "Bytes of weights and KV cache read, estimated")),
      estimated_write_bytes_(AddCounter("vllm:estimated_write_bytes_per_gpu",
                                        "Bytes of the KV cache written, estimated")),
      running_(AddGauge("vllm:num_requests_running", "Requests that are part of the steps")),
      waiting_(AddGauge("vllm:num_requests_waiting", "Requests that wait for their first step")),
      waiting_by_reason_(registry_.AddGauge(Info("vllm:num_requests_waiting_by_reason",
                                                 "The same, by what they wait for", {"reason"}))),
      sleep_state_(registry_.AddGauge(Info(
          "vllm:engine_sleep_state", "1 for the state that the engine is in", {"sleep_state"}))),
      kv_usage_(AddGauge("vllm:kv_cache_usage_perc", "Share of the KV blocks in use, 1 is all")),
      prefix_queries_(
          AddCounter("vllm:prefix_cache_queries", "Tokens looked up in the prefix cache")),
      prefix_hits_(AddCounter("vllm:prefix_cache_hits", "Tokens found in the prefix cache")),
      preemptions_(AddCounter("vllm:num_preemptions", "Times a request lost its KV blocks")),
      prompt_tokens_(AddCounter("vllm:prompt_tokens", "Prompt tokens taken in")),
      prompt_tokens_by_source_(registry_.AddCounter(Info(
          "vllm:prompt_tokens_by_source", "Prompt tokens by where their KV is from", {"source"}))),
      prompt_tokens_cached_(
          AddCounter("vllm:prompt_tokens_cached", "Prompt tokens that were cached")),
      prompt_tokens_cached_by_source_(
          registry_.AddCounter(Info("vllm:prompt_tokens_cached_by_source",
                                    "Cached prompt tokens by where they lay", {"source"}))),
      generation_tokens_(AddCounter("vllm:generation_tokens", "Tokens generated")),
      success_(registry_.AddCounter(
          Info("vllm:request_success", "Requests that ended, by how", {"finished_reason"}))),
      rejections_(registry_.AddCounter({.name = "vllm:admission_rejections",
                                        .help = "Requests refused because too many wait",
                                        .labels = {"reason"},
                                        .constant_labels = {{"model_name", options.model_name}}})),
      tool_parsing_(
          registry_.AddCounter({.name = "vllm:tool_call_parser_invocations",
                                .help = "Whole answers, and pieces of streams, that were looked "
                                        "through for tool calls",
                                .labels = {"mode", "outcome", "request_type"},
                                .constant_labels = {{"model_name", options.model_name}}})),
      request_prompt_tokens_(AddHistogram("vllm:request_prompt_tokens",
                                          "Prompt tokens of a request", UpTo(plan.max_model_len))),
      request_generation_tokens_(AddHistogram("vllm:request_generation_tokens",
                                              "Tokens generated for a request",
                                              UpTo(plan.max_model_len))),
      iteration_tokens_(
          AddHistogram("vllm:iteration_tokens_total", "Tokens computed in a step",
                       {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384})),
      request_max_generation_tokens_(AddHistogram("vllm:request_max_num_generation_tokens",
                                                  "Tokens of a prompt's longest answer",
                                                  UpTo(plan.max_model_len))),
      params_n_(AddHistogram("vllm:request_params_n", "Answers asked for", {1, 2, 5, 10, 20})),
      params_max_tokens_(AddHistogram("vllm:request_params_max_tokens",
                                      "Most tokens that a request may generate",
                                      UpTo(plan.max_model_len))),
      time_to_first_token_(AddHistogram("vllm:time_to_first_token_seconds",
                                        "From a request's arrival to its first token",
                                        FirstTokenBounds())),
      inter_token_latency_(AddHistogram("vllm:inter_token_latency_seconds",
                                        "Between two steps that bring tokens to a request",
                                        TokenTimeBounds())),
      time_per_output_token_(AddHistogram("vllm:request_time_per_output_token_seconds",
                                          "A request's mean time of a token after the first",
                                          TokenTimeBounds())),
      e2e_latency_(AddHistogram("vllm:e2e_request_latency_seconds",
                                "From a request's arrival to its last token", RequestTimeBounds())),
      queue_time_(AddHistogram("vllm:request_queue_time_seconds",
                               "From the queue to the first step", RequestTimeBounds())),
      inference_time_(AddHistogram("vllm:request_inference_time_seconds",
                                   "From the first step to the last token", RequestTimeBounds())),
      prefill_time_(AddHistogram("vllm:request_prefill_time_seconds",
                                 "From the first step to the first token", RequestTimeBounds())),
      decode_time_(AddHistogram("vllm:request_decode_time_seconds",
                                "From the first token to the last", RequestTimeBounds())),
      request_preemptions_(AddHistogram("vllm:request_num_preemptions",
                                        "Times a request lost its KV blocks",
                                        {1, 2, 3, 4, 5, 10, 20})),
      prefill_kv_computed_(AddHistogram("vllm:request_prefill_kv_computed_tokens",
                                        "Prompt tokens of a request that were not cached",
                                        UpTo(plan.max_model_len))),
      step_time_(AddHistogram("quire:step_time_seconds", "Duration of a step", FineTimeBounds())),
      step_control_time_(AddHistogram("quire:step_control_time_seconds",
                                      "Part of a step that schedules and takes in results",
                                      FineTimeBounds())),
      schedule_seconds_(AddCounter("quire:schedule_seconds", "Time spent on scheduling")),
      execute_seconds_(AddCounter("quire:execute_seconds", "Time spent on computing")),
      update_seconds_(AddCounter("quire:update_seconds", "Time spent on taking in results")),
      step_rows_(AddHistogram("quire:step_requests", "Requests in a step",
                              {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})),
      step_tokens_(registry_.AddCounter(
          Info("quire:step_tokens", "Tokens computed, recomputed ones too", {"phase"}))),
      batch_rows_(
          registry_.AddGauge(Info("quire:batch_requests", "Requests in the last step", {"phase"}))),
      kv_blocks_(registry_.AddGauge(
          Info("quire:kv_blocks_used", "KV blocks in use", {"group", "attention"}))),
      queue_time_by_priority_(registry_.AddHistogram([&] {
        MetricInfo info = Info("quire:request_queue_time_seconds",
                               "From the queue to the first step, by priority", {"priority"});
        info.bounds = FineTimeBounds();
        return info;
      }())),
      fine_inter_token_latency_(AddHistogram("quire:inter_token_latency_seconds",
                                             "vLLM's of that name, with finer buckets",
                                             FineTimeBounds())),
      restarts_(AddCounter("quire:engine_restarts", "Restarts of the engine after a failure")),
      computed_tokens_(prompt_tokens_by_source_.With({"local_compute"})),
      cache_hit_tokens_(prompt_tokens_by_source_.With({"local_cache_hit"})),
      device_cached_tokens_(prompt_tokens_cached_by_source_.With({"device"})),
      prefill_tokens_(step_tokens_.With({"prefill"})),
      decode_tokens_(step_tokens_.With({"decode"})),
      prefill_rows_(batch_rows_.With({"prefill"})),
      decode_rows_(batch_rows_.With({"decode"})),
      queue_full_(rejections_.With({"max_num_queued_reqs"})),
      queued_tokens_full_(rejections_.With({"max_num_queued_tokens"})) {
  ShowFixedSeries(facts);
  AddWaitingCollector();
  AddCacheInfo(config, facts, plan);
  AddProcessMetrics(registry_);
}

// Series that a dashboard expects although nothing has been counted into them.
void EngineMetrics::ShowFixedSeries(const ModelFacts& facts) {
  for (const char* reason : {"stop", "length", "abort", "error", "repetition"}) {
    success_.With({reason});
  }
  for (const char* mode : {"streaming", "non_streaming"}) {
    for (const char* outcome : {"tool_call", "no_tool_call"}) {
      for (const char* api : {"chat_completions", "responses", "other"}) {
        tool_parsing_.With({mode, outcome, api});
      }
    }
  }
  SetSleepLevel(0);
  // What there is none of here: a cache outside the engine, and one of images.
  prompt_tokens_by_source_.With({"external_kv_transfer"});
  AddCounter("vllm:external_prefix_cache_queries", "Tokens looked up outside the engine");
  AddCounter("vllm:external_prefix_cache_hits", "Tokens found outside the engine");
  AddCounter("vllm:mm_cache_queries", "Items looked up in the cache of images");
  AddCounter("vllm:mm_cache_hits", "Items found in the cache of images");
  const std::size_t num_groups = std::min(facts.kv_spec.groups.size(), SchedulerStats::kMaxGroups);
  for (std::size_t g = 0; g < num_groups; ++g) {
    const bool is_full = facts.kv_spec.groups[g].kind == AttentionKind::kFull;
    const std::string number = StrCat(g);
    group_blocks_.push_back(&kv_blocks_.With({number, is_full ? "full" : "sliding_window"}));
  }
}

void EngineMetrics::AddCacheInfo(const EngineConfig& config, const ModelFacts& facts,
                                 const KvCachePlan& plan) {
  const CacheOptions& cache = config.cache;
  const std::int64_t num_tokens = (plan.num_blocks - 1) * plan.block_size;
  const double concurrency = static_cast<double>(num_tokens) / std::max(1, plan.max_model_len);
  MetricInfo info = Info("vllm:cache_config_info", "How the KV cache is set up");
  info.constant_labels = {{"engine", "0"}};
  const bool is_default_size = plan.block_size == CacheOptions().block_size;
  const MetricLabels labels = {
      {"_block_size_resolved", PythonBool(true)},
      {"block_size", StrCat(plan.block_size)},
      {"cache_dtype", std::string(ToString(cache.kv_cache_dtype))},
      {"effective_attention_block_size", StrCat(plan.block_size)},
      {"enable_prefix_caching", PythonBool(cache.enable_prefix_caching)},
      {"gpu_memory_utilization", StrCat(cache.gpu_memory_utilization)},
      {"is_attention_free", PythonBool(facts.kv_spec.groups.empty())},
      {"kv_cache_max_concurrency", StrCat(concurrency)},
      {"kv_cache_memory_bytes", PythonOptional(cache.kv_cache_memory_bytes)},
      {"kv_cache_size_tokens", StrCat(num_tokens)},
      {"num_cpu_blocks", "None"},
      {"num_gpu_blocks", StrCat(plan.num_blocks)},
      {"num_gpu_blocks_override", PythonOptional(cache.num_gpu_blocks_override)},
      {"prefix_caching_hash_algo", std::string(ToString(cache.prefix_caching_hash_algo))},
      {"sliding_window", "None"},
      {"user_specified_block_size", PythonBool(!is_default_size)}};
  for (const auto& [name, value] : kAbsentCaches) info.constant_labels.push_back({name, value});
  info.constant_labels.insert(info.constant_labels.end(), labels.begin(), labels.end());
  registry_.AddGauge(std::move(info)).With({}).Set(1);
}

void EngineMetrics::SetSleepLevel(int level) {
  int number = 0;
  for (const char* state : {"awake", "weights_offloaded", "discard_all"}) {
    sleep_state_.With({state}).Set(number++ == level ? 1 : 0);
  }
}

void EngineMetrics::NoteStep(const StepReport& report) {
  FlushIntervals();
  const SchedulerStats& scheduler = report.scheduler;
  running_.Set(static_cast<double>(scheduler.num_running));
  num_waiting_.store(scheduler.num_waiting, std::memory_order_relaxed);
  num_set_aside_.store(scheduler.num_set_aside, std::memory_order_relaxed);
  kv_usage_.Set(scheduler.kv_cache_usage());
  prefix_queries_.RaiseTo(static_cast<double>(scheduler.prefix_queries));
  prefix_hits_.RaiseTo(static_cast<double>(scheduler.prefix_hits));
  preemptions_.RaiseTo(static_cast<double>(scheduler.num_preemptions));
  for (std::size_t g = 0; g < group_blocks_.size(); ++g) {
    group_blocks_[g]->Set(static_cast<double>(scheduler.num_used_by_group[g]));
  }
  prefill_rows_.Set(report.num_prefill_rows);
  decode_rows_.Set(report.num_rows - report.num_prefill_rows);
  if (report.num_rows == 0) return;
  EstimateCost(report);
  iteration_tokens_.Observe(report.num_tokens);
  step_rows_.Observe(report.num_rows);
  prefill_tokens_.Add(report.num_prefill_tokens);
  decode_tokens_.Add(report.num_tokens - report.num_prefill_tokens);
  step_time_.Observe(Seconds(report.end - report.begin));
  step_control_time_.Observe(Seconds(report.timing.schedule + report.timing.update));
  schedule_seconds_.Add(Seconds(report.timing.schedule));
  execute_seconds_.Add(Seconds(report.timing.execute));
  update_seconds_.Add(Seconds(report.timing.update));
}

void EngineMetrics::EstimateCost(const StepReport& report) {
  const double num_tokens = report.num_tokens;
  estimated_flops_.Add(2 * (cost_.per_token * num_tokens +
                            cost_.per_logits_row * static_cast<double>(report.num_logit_rows) +
                            cost_.per_pair * static_cast<double>(report.num_pairs)));
  estimated_read_bytes_.Add(weight_bytes_ +
                            kv_bytes_per_token_ * static_cast<double>(report.num_positions));
  estimated_write_bytes_.Add(kv_bytes_per_token_ * num_tokens);
}

void EngineMetrics::NoteToolParsing(bool is_stream, bool has_found_call, std::string_view api) {
  tool_parsing_
      .With({is_stream ? "streaming" : "non_streaming",
             has_found_call ? "tool_call" : "no_tool_call", api})
      .Add();
}

// Requests that are not ready wait outside the scheduler, which may stand still meanwhile.
void EngineMetrics::AddWaitingCollector() {
  Gauge& capacity = waiting_by_reason_.With({"capacity"});
  Gauge& deferred = waiting_by_reason_.With({"deferred"});
  registry_.AddCollector([this, &capacity, &deferred] {
    const std::int64_t unready = num_unready_.load(std::memory_order_relaxed);
    const std::int64_t queued = num_waiting_.load(std::memory_order_relaxed);
    const std::int64_t set_aside = num_set_aside_.load(std::memory_order_relaxed);
    waiting_.Set(static_cast<double>(queued + unready));
    capacity.Set(static_cast<double>(std::max<std::int64_t>(0, queued - set_aside)));
    deferred.Set(static_cast<double>(set_aside + unready));
  });
}

void EngineMetrics::NoteTokens(const AnswerStats& stats, int num_new) {
  generation_tokens_.Add(num_new);
  const RequestTimes& times = stats.times;
  if (stats.previous_token) {
    const auto interval = *times.last_token - *stats.previous_token;
    if (interval != interval_) FlushIntervals();
    interval_ = interval;
    ++num_intervals_;
    return;
  }
  ObserveBetween(times.arrival, times.first_token, time_to_first_token_);
  const bool is_shown = std::abs(stats.priority) <= kMostPriority;
  const std::string priority = is_shown ? StrCat(stats.priority) : "other";
  ObserveBetween(times.queued, times.scheduled, queue_time_by_priority_.With({priority}));
  const int num_computed = stats.num_prompt_tokens - stats.num_cached_tokens;
  prompt_tokens_.Add(stats.num_prompt_tokens);
  prompt_tokens_cached_.Add(stats.num_cached_tokens);
  device_cached_tokens_.Add(stats.num_cached_tokens);
  cache_hit_tokens_.Add(stats.num_cached_tokens);
  computed_tokens_.Add(num_computed);
}

void EngineMetrics::FlushIntervals() {
  if (num_intervals_ == 0) return;
  inter_token_latency_.Observe(Seconds(interval_), num_intervals_);
  fine_inter_token_latency_.Observe(Seconds(interval_), num_intervals_);
  num_intervals_ = 0;
}

void EngineMetrics::NoteEnd(const AnswerStats& stats, FinishReason reason) {
  success_.With({ToString(reason)}).Add();
  // How long an answer took that was cut off or failed says nothing.
  if (reason == FinishReason::kAbort || reason == FinishReason::kError) return;
  const RequestTimes& times = stats.times;
  request_prompt_tokens_.Observe(stats.num_prompt_tokens);
  request_generation_tokens_.Observe(stats.num_generated_tokens);
  params_max_tokens_.Observe(stats.max_tokens);
  request_preemptions_.Observe(times.num_preemptions);
  prefill_kv_computed_.Observe(stats.num_prompt_tokens - stats.num_cached_tokens);
  ObserveBetween(times.arrival, times.last_token, e2e_latency_);
  ObserveBetween(times.queued, times.scheduled, queue_time_);
  ObserveBetween(times.scheduled, times.last_token, inference_time_);
  ObserveBetween(times.scheduled, times.first_token, prefill_time_);
  ObserveBetween(times.first_token, times.last_token, decode_time_);
  if (stats.num_generated_tokens > 1) {
    const double decode = Seconds(*times.last_token - *times.first_token);
    time_per_output_token_.Observe(decode / (stats.num_generated_tokens - 1));
  }
}

void EngineMetrics::NotePromptEnd(int num_answers, int max_generated) {
  params_n_.Observe(num_answers);
  request_max_generation_tokens_.Observe(max_generated);
}

}  // namespace quire
