// A Hugging Face checkpoint written as GGUF, in the way that converters do it.
#pragma once

#include <string>

#include "base/status.h"
#include "model/checkpoint.h"
#include "model/model_config.h"

namespace quire::golden {

// Writes all tensors and the metadata that ModelConfig holds to FOLDER and gives back the path to
// open: one file, or two where `is_split`. Matrices keep their type, vectors become F32, and q and
// k of the llama family get their rows interleaved. Rope scaling other than linear and yarn becomes
// the tensor rope_freqs.weight.
Result<std::string> WriteGgufCopy(const Checkpoint& checkpoint, const ModelConfig& config,
                                  const std::string& folder, bool is_split);

}  // namespace quire::golden
