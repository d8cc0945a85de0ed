// What a model's generation_config.json says: its end-of-sequence tokens and the defaults of
// sampling parameters that a request does not set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "formats/json.h"
#include "request/sampling_params.h"

namespace quire {

struct GenerationConfig {
  std::vector<TokenId> eos_token_ids;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int> top_k;
  std::optional<double> min_p;
  std::optional<double> typical_p;
  std::optional<double> repetition_penalty;
  std::optional<int> max_new_tokens;  // the most that any request may generate, and the default

  // The parameters of a request that sets none: vLLM's defaults with these over them. What the
  // request sets then goes on top, so it wins.
  SamplingParams Defaults() const;

  friend bool operator==(const GenerationConfig&, const GenerationConfig&) = default;
};

// From the members of a generation_config.json; null is an empty one. Other members are passed
// over, do_sample among them, as in vLLM. kInvalidArgument for a member of the wrong kind and for
// defaults that no request could set.
Result<GenerationConfig> ParseGenerationConfig(const Json& value);

// For the members of override-generation-config: as ParseGenerationConfig, and no name may be a
// slip of one that is known. Further names of Hugging Face's are passed over.
Status CheckGenerationOverrides(const Json& overrides);

// As generation-config and override-generation-config ask for it: `model_folder` holds the model's
// own file, or is empty where the model has no folder. With `vllm` the end-of-sequence tokens are
// still the model's. kNotFound where a folder is named and has no such file.
Result<GenerationConfig> LoadGenerationConfig(const ModelOptions& options,
                                              const std::string& model_folder);

}  // namespace quire
