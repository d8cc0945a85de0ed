// What the engine thread tells of one step, for those who count.
#pragma once

#include <chrono>
#include <cstdint>

#include "sched/scheduler.h"

namespace quire {

// Where the time of a step went.
struct StepTiming {
  std::chrono::nanoseconds schedule{};
  std::chrono::nanoseconds execute{};
  std::chrono::nanoseconds update{};
};

// Plain numbers, copied out of the step so that the engine thread neither waits nor allocates.
struct StepReport {
  std::chrono::steady_clock::time_point begin{};
  std::chrono::steady_clock::time_point end{};
  SchedulerStats scheduler;
  StepTiming timing;
  std::int32_t num_rows = 0;
  std::int32_t num_tokens = 0;  // computed
  std::int32_t num_prefill_rows = 0;
  std::int32_t num_prefill_tokens = 0;
  std::int32_t num_logit_rows = 0;  // that gave a token
  std::int64_t num_positions = 0;   // whose keys and values were read, of each row once
  std::int64_t num_pairs = 0;       // of a computed token and a position that it saw
};

}  // namespace quire
