#include "engine/step_bench.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "base/strings.h"
#include "engine/core.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

constexpr int kVocab = 1024;
constexpr int kMaxRunning = 1 << 16;
constexpr int kMaxContext = 1 << 20;

// Steps of the ramp, one prompt each, and of the warm-up: two blocks' worth show each row and its
// lists once.
int NumStepsBefore(const StepBenchOptions& options) {
  return options.num_running + 2 * options.block_size + 2;
}

Status Check(const StepBenchOptions& options) {
  if (options.num_running < 1 || options.num_running > kMaxRunning) {
    return InvalidArgument(
        StrCat("running: must be 1 to ", kMaxRunning, ", got ", options.num_running));
  }
  if (options.block_size < 1 || options.block_size > 1024) {
    return InvalidArgument(StrCat("block_size: must be 1 to 1024, got ", options.block_size));
  }
  if (options.prompt_tokens < 1 || options.num_steps < 1 || options.prompt_tokens > kMaxContext ||
      options.num_steps > kMaxContext - options.prompt_tokens) {
    return InvalidArgument(StrCat("steps: prompt and steps must be positive and at most ",
                                  kMaxContext, " tokens together, got ", options.prompt_tokens,
                                  " and ", options.num_steps));
  }
  return {};
}

Result<std::unique_ptr<EngineCore>> MakeCore(const StepBenchOptions& options) {
  const int context =
      options.prompt_tokens + options.block_size + options.num_steps + NumStepsBefore(options) + 2;
  KvCachePlan plan;
  plan.block_size = options.block_size;
  plan.max_model_len = context;
  plan.max_requests = options.num_running;
  plan.max_rows = options.num_running + options.prompt_tokens + options.block_size;
  plan.num_blocks = std::int64_t{options.num_running} * (context / options.block_size + 1) + 1;
  EngineConfig config;
  config.scheduler.max_num_seqs = plan.max_requests;
  config.scheduler.max_num_batched_tokens = plan.max_rows;
  config.scheduler.max_waiting = options.num_running;
  auto executor = std::make_unique<NullExecutor>(
      NullExecutor::SmallFacts(kVocab, context), [](RequestId id, std::int32_t idx) {
        return static_cast<TokenId>((id.value() * 31 + idx) % kVocab);
      });
  QUIRE_RETURN_IF_ERROR(executor->InitKvCache(plan));
  return EngineCore::Create(config, plan, std::move(executor));
}

// Prompts differ from their first token on, so that none shares another's blocks, and in length, so
// that in each step as many of them need a new block.
Status AddRequests(const StepBenchOptions& options, EngineCore& core) {
  for (int i = 0; i < options.num_running; ++i) {
    EngineRequest request;
    request.id = RequestId(i);
    for (int j = 0; j < options.prompt_tokens + i % options.block_size; ++j) {
      request.prompt.push_back((i + j * (i / kVocab + 1)) % kVocab);
    }
    request.max_tokens = options.num_steps + NumStepsBefore(options) + 1;
    request.sampling.max_tokens = request.max_tokens;
    request.sampling.temperature = 0.0;
    QUIRE_RETURN_IF_ERROR(core.Add(std::move(request)));
  }
  return {};
}

struct StepTime {
  double total = 0.0;
  double schedule = 0.0;
  double build = 0.0;
  double update = 0.0;
  bool was_interrupted = false;  // the system gave the processor to somebody else
};

// How often the system has taken the processor away from this thread.
std::int64_t NumInterruptions() {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

double Microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1000.0;
}

Result<StepTime> MeasureStep(EngineCore& core) {
  StepTime time;
  const std::int64_t interruptions = NumInterruptions();
  const auto start = std::chrono::steady_clock::now();
  const auto outputs = core.Step();
  time.total = Microseconds(std::chrono::steady_clock::now() - start);
  if (!outputs.ok()) return outputs.status();
  time.schedule = Microseconds(core.last_timing().schedule);
  time.build = Microseconds(core.last_timing().execute);
  time.update = Microseconds(core.last_timing().update);
  time.was_interrupted = NumInterruptions() != interruptions;
  return time;
}

double Median(const std::vector<StepTime>& steps, double StepTime::*field) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const StepTime& step : steps) values.push_back(step.*field);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

Result<StepBenchResult> Measure(const StepBenchOptions& options, EngineCore& core) {
  std::vector<StepTime> steps;
  steps.reserve(static_cast<std::size_t>(options.num_steps));
  const std::int64_t before = options.count_allocations ? options.count_allocations() : 0;
  for (int i = 0; i < options.num_steps; ++i) {
    QUIRE_ASSIGN_OR_RETURN(const StepTime step, MeasureStep(core));
    steps.push_back(step);
  }
  // Where the machine is so busy that no step was left alone, all of them have to do.
  const auto was_interrupted = [](const StepTime& step) { return step.was_interrupted; };
  if (!std::ranges::all_of(steps, was_interrupted)) std::erase_if(steps, was_interrupted);
  StepBenchResult result;
  if (options.count_allocations) {
    result.allocations_per_step =
        static_cast<double>(options.count_allocations() - before) / options.num_steps;
  }
  result.num_running = options.num_running;
  result.num_steps = options.num_steps;
  result.us_per_step = Median(steps, &StepTime::total);
  result.us_schedule = Median(steps, &StepTime::schedule);
  result.us_build = Median(steps, &StepTime::build);
  result.us_update = Median(steps, &StepTime::update);
  return result;
}

}  // namespace

Result<StepBenchResult> BenchStep(const StepBenchOptions& options) {
  QUIRE_RETURN_IF_ERROR(Check(options));
  QUIRE_ASSIGN_OR_RETURN(const auto core, MakeCore(options));
  QUIRE_RETURN_IF_ERROR(AddRequests(options, *core));
  for (int warm = 0; warm < 2 * options.block_size + 2;) {  // counted once all of them decode
    const auto outputs = core->Step();
    if (!outputs.ok()) return outputs.status();
    if (outputs->size() == static_cast<std::size_t>(options.num_running)) ++warm;
  }
  return Measure(options, *core);
}

}  // namespace quire
