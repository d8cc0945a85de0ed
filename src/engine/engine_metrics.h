// The numbers of one engine under vLLM's names, so that its dashboards draw, and more of our own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/answer_stats.h"
#include "engine/step_report.h"
#include "metrics/registry.h"
#include "metrics/trace_ring.h"
#include "request/request.h"

namespace quire {

// Fed by the output thread; read by any. Where the same interval is vLLM's: a request is queued
// until it first gets into a step, in prefill until its first token, then in decode. An n > 1
// request counts as n.
class EngineMetrics {
 public:
  struct Options {
    std::string model_name;  // the label of that name
    std::size_t num_traces = 0;
  };
  EngineMetrics(const Options& options, const EngineConfig& config, const ModelFacts& facts,
                const KvCachePlan& plan);

  // Output thread.
  void NoteStep(const StepReport& report);
  // A step brought tokens to an answer; `stats` has them in.
  void NoteTokens(const AnswerStats& stats, int num_new);
  void NoteEnd(const AnswerStats& stats, FinishReason reason);
  // The last of a prompt's answers ended.
  void NotePromptEnd(int num_answers, int max_generated);

  // Any thread.
  void NoteRefused(WaitingBound met) {
    (met == WaitingBound::kTokens ? queued_tokens_full_ : queue_full_).Add();
  }
  void NoteRestart() { restarts_.Add(); }
  // So many requests more wait for what they need before they can be scheduled, like a grammar.
  void NoteDeferred(int change) { num_unready_.fetch_add(change, std::memory_order_relaxed); }
  // A parser of tool calls was asked: of a whole answer, or of one piece of a stream. `api` is
  // chat_completions, responses or other.
  void NoteToolParsing(bool is_stream, bool has_found_call, std::string_view api);
  // vLLM's: 0 awake, 1 weights offloaded, 2 everything discarded.
  void SetSleepLevel(int level);

  // Others may add families of their own.
  MetricRegistry& registry() { return registry_; }
  // The page; its content type is kMetricsContentType.
  std::string Expose() const { return registry_.Expose(); }
  TraceRing& traces() { return traces_; }

 private:
  MetricInfo Info(std::string name, std::string help, std::vector<std::string> labels = {}) const;
  Counter& AddCounter(std::string name, std::string help);
  Gauge& AddGauge(std::string name, std::string help);
  Histogram& AddHistogram(std::string name, std::string help, std::vector<double> bounds);
  void AddCacheInfo(const EngineConfig& config, const ModelFacts& facts, const KvCachePlan& plan);
  void ShowFixedSeries(const ModelFacts& facts);
  void AddWaitingCollector();
  void EstimateCost(const StepReport& report);
  void FlushIntervals();

  const MetricLabels labels_;
  MetricRegistry registry_;
  TraceRing traces_;

  // What the gauges of waiting requests are made of when a page is.
  std::atomic<std::int64_t> num_waiting_ = 0;
  std::atomic<std::int64_t> num_set_aside_ = 0;
  std::atomic<std::int64_t> num_unready_ = 0;

  const ForwardCost cost_;
  const double weight_bytes_;
  const double kv_bytes_per_token_;

  // In the order in which they are shown.
  Counter& estimated_flops_;
  Counter& estimated_read_bytes_;
  Counter& estimated_write_bytes_;
  Gauge& running_;
  Gauge& waiting_;
  MetricFamily<Gauge>& waiting_by_reason_;
  MetricFamily<Gauge>& sleep_state_;
  Gauge& kv_usage_;
  Counter& prefix_queries_;
  Counter& prefix_hits_;
  Counter& preemptions_;
  Counter& prompt_tokens_;
  MetricFamily<Counter>& prompt_tokens_by_source_;
  Counter& prompt_tokens_cached_;
  MetricFamily<Counter>& prompt_tokens_cached_by_source_;
  Counter& generation_tokens_;
  MetricFamily<Counter>& success_;
  MetricFamily<Counter>& rejections_;
  MetricFamily<Counter>& tool_parsing_;
  Histogram& request_prompt_tokens_;
  Histogram& request_generation_tokens_;
  Histogram& iteration_tokens_;
  Histogram& request_max_generation_tokens_;
  Histogram& params_n_;
  Histogram& params_max_tokens_;
  Histogram& time_to_first_token_;
  Histogram& inter_token_latency_;
  Histogram& time_per_output_token_;
  Histogram& e2e_latency_;
  Histogram& queue_time_;
  Histogram& inference_time_;
  Histogram& prefill_time_;
  Histogram& decode_time_;
  Histogram& request_preemptions_;
  Histogram& prefill_kv_computed_;
  // Our own.
  Histogram& step_time_;
  Histogram& step_control_time_;
  Counter& schedule_seconds_;
  Counter& execute_seconds_;
  Counter& update_seconds_;
  Histogram& step_rows_;
  MetricFamily<Counter>& step_tokens_;
  MetricFamily<Gauge>& batch_rows_;
  MetricFamily<Gauge>& kv_blocks_;
  MetricFamily<Histogram>& queue_time_by_priority_;
  Histogram& fine_inter_token_latency_;
  Counter& restarts_;

  // Series that are counted into often.
  Counter& computed_tokens_;
  Counter& cache_hit_tokens_;
  Counter& device_cached_tokens_;
  Counter& prefill_tokens_;
  Counter& decode_tokens_;
  Gauge& prefill_rows_;
  Gauge& decode_rows_;
  Counter& queue_full_;
  Counter& queued_tokens_full_;
  std::vector<Gauge*> group_blocks_;

  // Equal waits of many requests of one step, not yet observed. Output thread.
  std::chrono::nanoseconds interval_{};
  std::uint64_t num_intervals_ = 0;
};

}  // namespace quire
