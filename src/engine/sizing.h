// Decides once how large everything is: context length, KV blocks, rows of a step.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/machine_memory.h"

namespace quire {

// How the engine was sized, with the reason of each decision, for a person to read.
struct EngineDecisions {
  KvCachePlan plan;
  std::vector<std::string> reasons;  // "KV cache: 2048 blocks of 16 tokens (…): …"
  std::string summary;               // of the KV cache, in one line
  double max_concurrency = 0;        // requests of max_model_len that the KV cache holds at once
};

// `memory` is what was free before the model was loaded. The KV cache never takes more than fits
// beside the weights, and, where nothing asks for a size, never more than max_num_seqs requests of
// full length could use. kInvalidArgument names the option that cannot be had, with the numbers.
Result<EngineDecisions> SizeEngine(const EngineConfig& config, const ModelFacts& facts,
                                   const MachineMemory& memory);

}  // namespace quire
