// The flags that many commands share: which model, how it is loaded and run, how tokens are chosen.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/quire/flags.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "request/sampling_params.h"

namespace quire {

class Llm;

// Adds the engine's options under their own names and groups: all, or only those named. What
// `config` holds now are the defaults.
void AddEngineFlags(FlagSet& flags, EngineConfig& config,
                    std::span<const std::string_view> only = {});

// Flags of sampling parameters, kept as the user gave them.
class SamplingFlags {
 public:
  // All but `left_out`, where that is named.
  void AddTo(FlagSet& flags, std::string_view left_out = {});

  // Puts what the user gave over `params`, the model's defaults.
  Status Apply(SamplingParams& params) const;

  // The names of what the user gave.
  std::set<std::string> names() const;

 private:
  std::vector<std::pair<std::string, std::string>> given_;  // name and text, in order
  SamplingParams checked_;  // the same over vLLM's defaults: finds unusable values early
};

// The named members of the parameters, as fields of a request to a server.
JsonObject SamplingFields(const SamplingParams& params, const std::set<std::string>& names);

// The path of the model that `name` means; empty: the default model.
Result<std::string> FindModel(const std::string& name);

// The same for the model of an engine, and where it keeps packed weights.
Status LocateFiles(EngineConfig& config);

// The positional MODEL, where there is one, into the option; kInvalidArgument when --model says
// otherwise.
Status TakeModel(const FlagSet& flags, const std::string& positional, EngineConfig& config);

// The same for a command whose only positional is MODEL; where there are more, `hint` says where
// what was meant belongs.
Status TakeOnlyModel(const FlagSet& flags, EngineConfig& config, std::string_view hint = {});

// kInvalidArgument where an engine option other than the model's name was given: with --url the
// engine is a server's.
Status RefuseEngineFlags(const FlagSet& flags);

// Shows a bar on standard error when loading takes longer than a second.
LoadProgress MakeLoadBar();

// Validates, locates and loads.
Result<std::unique_ptr<Llm>> LoadLlm(EngineConfig config);

}  // namespace quire
