#include "engine/stats_log.h"

#include <array>
#include <cstdio>

#include "base/log_format.h"

namespace quire {
namespace {

// Requests over which the hit rate is taken.
constexpr std::int64_t kRecentRequests = 1000;

}  // namespace

void StatsLog::NoteStep(const StepReport& report, std::span<const EngineCoreOutput> outputs) {
  const SchedulerStats before = last_;
  last_ = report.scheduler;
  NoteLookups(before, report.num_prefill_rows);
  if (report.num_rows == 0) return;
  if (!begin_) begin_ = report.begin;
  num_prompt_tokens_ += report.num_prefill_tokens;
  for (const EngineCoreOutput& output : outputs) {
    num_generated_tokens_ += static_cast<std::int64_t>(output.new_tokens.size());
  }
}

void StatsLog::NoteLookups(const SchedulerStats& before, std::int64_t num_requests) {
  const Lookups step = {.num_requests = num_requests,
                        .num_queries = last_.prefix_queries - before.prefix_queries,
                        .num_hits = last_.prefix_hits - before.prefix_hits};
  if (step.num_queries <= 0) return;
  recent_.push_back(step);
  total_.num_requests += step.num_requests;
  total_.num_queries += step.num_queries;
  total_.num_hits += step.num_hits;
  while (total_.num_requests - recent_.front().num_requests >= kRecentRequests) {
    total_.num_requests -= recent_.front().num_requests;
    total_.num_queries -= recent_.front().num_queries;
    total_.num_hits -= recent_.front().num_hits;
    recent_.pop_front();
  }
}

std::optional<StatsLog::Clock::time_point> StatsLog::due() const {
  if (!begin_) return std::nullopt;
  return *begin_ + interval_;
}

double StatsLog::PerSecond(std::int64_t count, Clock::time_point now) const {
  const double seconds = begin_ ? std::chrono::duration<double>(now - *begin_).count() : 0.0;
  return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
}

double StatsLog::HitRate() const {
  if (total_.num_queries == 0) return 0;
  return static_cast<double>(total_.num_hits) / static_cast<double>(total_.num_queries);
}

std::string StatsLog::Describe(Clock::time_point now) const {
  char line[320];
  const int size = std::snprintf(
      line, sizeof line,
      "Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: "
      "%.1f tokens/s, Running: %lld reqs, Waiting: %lld reqs, GPU KV cache usage: "
      "%.1f%%, Prefix cache hit rate: %.1f%%",
      PerSecond(num_prompt_tokens_, now), PerSecond(num_generated_tokens_, now),
      static_cast<long long>(last_.num_running), static_cast<long long>(last_.num_waiting),
      100 * last_.kv_cache_usage(), 100 * HitRate());
  return {line, static_cast<std::size_t>(size)};
}

void StatsLog::Write(Clock::time_point now) {
  const std::array<LogField, 6> fields = {
      {{"prompt_tokens_per_s", PerSecond(num_prompt_tokens_, now)},
       {"generation_tokens_per_s", PerSecond(num_generated_tokens_, now)},
       {"running", static_cast<double>(last_.num_running)},
       {"waiting", static_cast<double>(last_.num_waiting)},
       {"kv_cache_usage", last_.kv_cache_usage()},
       {"prefix_cache_hit_rate", HitRate()}}};
  WriteLog(LogLevel::kInfo, "stats_log", Describe(now), fields);
  begin_.reset();
  num_prompt_tokens_ = num_generated_tokens_ = 0;
}

}  // namespace quire
