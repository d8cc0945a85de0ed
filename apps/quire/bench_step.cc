// quire bench step: what the control plane costs, without a model.
#include <string>
#include <vector>

#include "apps/quire/allocations.h"
#include "apps/quire/bench.h"
#include "apps/quire/flags.h"
#include "base/strings.h"
#include "engine/step_bench.h"

namespace quire {

namespace {

struct StepOptions {
  StepBenchOptions bench;
  BenchOutput output;
};

FlagSet MakeFlags(StepOptions& options) {
  FlagSet flags("bench step [flags]",
                "Measures a decode step of many running requests over a device that computes "
                "nothing: scheduling, the worker's inputs, taking in results. No model is needed.");
  flags.Group("Load");
  flags.Add("running", options.bench.num_running, "Requests that decode at once");
  flags.Add("steps", options.bench.num_steps, "Steps measured, after a warm-up");
  flags.Add("input-len", options.bench.prompt_tokens, "Tokens of each prompt");
  flags.Add("block-size", options.bench.block_size, "Tokens per KV block");
  AddOutputFlags(flags, options.output);
  flags.AddExample("quire bench step --running 1024 --json");
  return flags;
}

Json ToJson(const StepBenchResult& result) {
  JsonObject object;
  object.emplace_back("running", result.num_running);
  object.emplace_back("steps", result.num_steps);
  object.emplace_back("us_per_step", result.us_per_step);
  object.emplace_back("us_schedule", result.us_schedule);
  object.emplace_back("us_build", result.us_build);
  object.emplace_back("us_update", result.us_update);
  object.emplace_back("allocations_per_step", result.allocations_per_step);
  return Json(std::move(object));
}

std::string Describe(const StepBenchResult& result) {
  return StrCat(result.num_running, " running requests: ", Fixed(result.us_per_step, 1),
                " us a step\n  schedule      ", Fixed(result.us_schedule, 1),
                " us\n  build inputs  ", Fixed(result.us_build, 1), " us\n  update        ",
                Fixed(result.us_update, 1), " us\n  allocations   ",
                Fixed(result.allocations_per_step, 2), "\n");
}

}  // namespace

Status RunBenchStep(Args args) {
  StepOptions options;
  options.bench.count_allocations = NumThreadAllocations;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  if (!flags.positionals().empty()) {
    return InvalidArgument(
        StrCat("bench step: takes no argument, got ", Printable(flags.positionals()[0])));
  }
  QUIRE_ASSIGN_OR_RETURN(const StepBenchResult result, BenchStep(options.bench));
  return WriteBenchResult(options.output, Describe(result), ToJson(result));
}

}  // namespace quire
