// quire inspect: what a model file holds and needs.
#include <string>
#include <vector>

#include "apps/quire/command.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/inspect_report.h"
#include "apps/quire/io.h"
#include "base/strings.h"

namespace quire {

namespace {

FlagSet MakeFlags(InspectOptions& options) {
  FlagSet flags("inspect [MODEL] [flags]",
                "Tells what a model holds and what it needs, without loading its weights. Of an "
                "architecture that quire cannot compute it tells what the file says.");
  flags.Group("Output");
  flags.Add("json", options.json, "One JSON object instead of text");
  flags.Add("tensors", options.tensors, "List every tensor too");
  constexpr std::string_view kNames[] = {
      "model",         "tokenizer",      "dtype",
      "max-model-len", "hf-overrides",   "generation-config",
      "block-size",    "kv-cache-dtype", "override-generation-config"};
  AddEngineFlags(flags, options.config, kNames);
  return flags;
}

}  // namespace

Status RunInspect(Args args) {
  InspectOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakeOnlyModel(flags, options.config));
  QUIRE_ASSIGN_OR_RETURN(options.config.model.model, FindModel(options.config.model.model));
  QUIRE_ASSIGN_OR_RETURN(const Json report, InspectModel(options));
  return PrintToStdout(options.json ? report.Dump() + "\n" : DescribeReport(report));
}

}  // namespace quire
