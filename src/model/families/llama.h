// The Llama decoder, on which other families build: pre-norm layers of attention and a gated
// feed-forward block, with what ModelConfig switches on (biases, head norms, windows).
#pragma once

#include <memory>

#include "base/status.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "model/model_config.h"
#include "ops/context.h"

namespace quire {

Result<std::unique_ptr<Model>> LoadLlama(ops::OpContext& ctx,
                                         std::shared_ptr<const Checkpoint> checkpoint,
                                         const ModelConfig& config, const LoadOptions& options);

}  // namespace quire
