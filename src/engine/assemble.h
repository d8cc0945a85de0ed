// Puts the parts of an engine together: what the in-process and the threaded engine share.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/core.h"
#include "engine/input.h"
#include "engine/machine_memory.h"
#include "engine/sizing.h"
#include "exec/executor.h"
#include "request/sampling_params.h"
#include "tokenizer/tokenizer.h"

namespace quire {

struct EngineParts {
  ModelFacts facts;
  EngineDecisions decisions;
  SamplingParams sampling_defaults;
  std::vector<TokenId> eos_token_ids;
  std::shared_ptr<const Tokenizer> tokenizer;  // null where the model has none
  std::unique_ptr<InputProcessor> input;
  std::unique_ptr<EngineCore> core;
};

// Loads model and tokenizer and sizes everything. The calling thread is the one that will compute.
Result<EngineParts> LoadEngine(const EngineConfig& config, const LoadProgress& progress);

// The same over an executor that is there already; `tokenizer` may be null.
Result<EngineParts> AssembleEngine(const EngineConfig& config, const MachineMemory& memory,
                                   std::unique_ptr<Executor> executor,
                                   std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace quire
