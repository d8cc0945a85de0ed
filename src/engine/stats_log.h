// The line that says every few seconds what the engine does.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "engine/step_report.h"
#include "request/request.h"

namespace quire {

// Sums up steps between two lines. One thread.
class StatsLog {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StatsLog(std::chrono::seconds interval) : interval_(interval) {}

  void NoteStep(const StepReport& report, std::span<const EngineCoreOutput> outputs);

  // When the next line is to be written; nothing as long as no step has been since the last one.
  std::optional<Clock::time_point> due() const;

  // Writes the line and begins anew.
  void Write(Clock::time_point now);

  // What Write would say.
  std::string Describe(Clock::time_point now) const;

 private:
  // Lookups of the prefix cache, of some requests admitted together.
  struct Lookups {
    std::int64_t num_requests = 0;
    std::int64_t num_queries = 0;  // tokens
    std::int64_t num_hits = 0;
  };
  void NoteLookups(const SchedulerStats& stats, std::int64_t num_requests);
  double PerSecond(std::int64_t count, Clock::time_point now) const;
  double HitRate() const;

  const std::chrono::seconds interval_;
  std::optional<Clock::time_point> begin_;  // of the first step since the last line
  std::int64_t num_prompt_tokens_ = 0;      // computed since then
  std::int64_t num_generated_tokens_ = 0;
  SchedulerStats last_;
  std::deque<Lookups> recent_;
  Lookups total_;  // of recent_
};

}  // namespace quire
