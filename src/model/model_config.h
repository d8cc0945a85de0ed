// One description of a model, from config.json or from GGUF metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "ops/elementwise.h"

namespace quire {

enum class RopeScaling { kNone, kLinear, kDynamic, kLlama3, kYarn };

struct RopeConfig {
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  std::int64_t original_max_positions = 0;
  double low_freq_factor = 1.0;            // llama3
  double high_freq_factor = 4.0;           // llama3
  double beta_fast = 32.0;                 // yarn
  double beta_slow = 1.0;                  // yarn
  std::optional<double> attention_factor;  // yarn; unset: from factor
  std::optional<double> mscale;            // yarn
  std::optional<double> mscale_all_dim;    // yarn
  bool truncate = true;                    // yarn
  double partial_factor = 1.0;             // share of a head that turns
  std::vector<float> factors;              // per pair divisors that a GGUF file brings itself
  ops::RopeStyle style = ops::RopeStyle::kHalf;
};

// Fields that decoder-only transformers share. A family reads what it needs and refuses what it
// does not know how to compute.
struct ModelConfig {
  std::string family;        // of model/families: "llama", "qwen2", …
  std::string architecture;  // as the checkpoint names it: LlamaForCausalLM
  std::string name;          // a title for people, may be empty
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;  // the context that the checkpoint declares
  double norm_eps = 1e-6;
  RopeConfig rope;
  ops::Activation activation = ops::Activation::kSilu;
  bool tie_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;  // of the attention's output projection
  bool mlp_bias = false;
  bool qk_norm = false;
  std::vector<std::int64_t> layer_windows;  // a layer's sliding window, 0: none; empty: none at all
  DType weight_dtype = DType::kF32;         // what most bytes are
  std::vector<std::int32_t> eos_token_ids;
  std::optional<std::int32_t> bos_token_id;
};

// kUnimplemented, with the nearest known name, for an architecture that no family computes;
// kDataLoss or kInvalidArgument naming the field for missing or senseless values. `overrides` are
// members put over config.json's, nested objects member by member.
Result<ModelConfig> ModelConfigFromHf(const Json& config, const Json& overrides);
Result<ModelConfig> ModelConfigFromGguf(const GgufHeader& gguf, const Json& overrides);

}  // namespace quire
