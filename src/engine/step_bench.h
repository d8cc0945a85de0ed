// Measures the control plane alone: decode steps over the null device.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"

namespace quire {

struct StepBenchOptions {
  int num_running = 256;    // requests that decode at once
  int num_steps = 2000;     // measured, after a warm-up
  int prompt_tokens = 128;  // of each request
  int block_size = 16;
  // How often the program has allocated so far; empty: not counted.
  std::function<std::int64_t()> count_allocations;
};

// Medians over the steps in which the thread was left alone, so that what else the machine does
// hardly shows. In each step as many requests get a new block.
struct StepBenchResult {
  int num_running = 0;
  int num_steps = 0;
  double us_per_step = 0.0;
  double us_schedule = 0.0;
  double us_build = 0.0;  // the worker's inputs, and the null device's tokens
  double us_update = 0.0;
  double allocations_per_step = -1.0;  // -1: not counted
};

// kInvalidArgument names the option that cannot be had.
Result<StepBenchResult> BenchStep(const StepBenchOptions& options);

}  // namespace quire
