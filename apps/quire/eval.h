// The measures of `quire eval`.
#pragma once

#include <span>
#include <string_view>

#include "apps/quire/command.h"
#include "apps/quire/flags.h"
#include "config/engine_config.h"

namespace quire {

Status RunEvalLogits(Args args);
Status RunEvalPerplexity(Args args);

// The engine's options that change what one sequence, computed alone, gives.
void AddEvalFlags(FlagSet& flags, EngineConfig& config);

}  // namespace quire
