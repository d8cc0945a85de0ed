// One description of a model, from config.json or from GGUF metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "formats/gguf.h"
#include "formats/json.h"
#include "formats/tensor_info.h"
#include "ops/elementwise.h"

namespace quire {

class Checkpoint;

enum class RopeScaling { kNone, kLinear, kDynamic, kLlama3, kYarn };

struct RopeConfig {
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  std::int64_t original_max_positions = 0;                // before scaling
  double low_freq_factor = 1.0;                           // llama3
  double high_freq_factor = 4.0;                          // llama3
  double beta_fast = 32.0;                                // yarn
  double beta_slow = 1.0;                                 // yarn
  std::optional<double> attention_factor = std::nullopt;  // yarn; unset: from factor
  std::optional<double> mscale = std::nullopt;            // yarn
  std::optional<double> mscale_all_dim = std::nullopt;    // yarn
  bool truncate = true;                                   // yarn
  double partial_factor = 1.0;                            // share of a head that turns
  std::vector<float> factors = {};  // per pair divisors that a GGUF file brings itself
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
  std::int64_t max_positions = 0;  // the longest context, with what rope scaling adds
  double norm_eps = 1e-6;
  RopeConfig rope;
  ops::Activation activation = ops::Activation::kSilu;
  bool tie_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;  // of the attention's output projection
  bool mlp_bias = false;
  bool qk_norm = false;
  bool fused_projections = false;         // the file has q, k, v in one matrix, and gate, up in one
  std::vector<bool> layer_ropes;          // whether a layer's q and k turn; empty: all do
  std::optional<double> attention_scale;  // of scores; unset: 1 / sqrt(head_dim)
  double embedding_multiplier = 1.0;
  double residual_multiplier = 1.0;  // of what each block adds
  double logits_divisor = 1.0;
  std::vector<std::int64_t> layer_windows;  // a layer's sliding window, 0: none; empty: none at all
  DType weight_dtype = DType::kF32;         // what most bytes are
  std::vector<std::int32_t> eos_token_ids;
  std::optional<std::int32_t> bos_token_id;
};

// The sliding window of layer `layer_idx`, 0 for full attention.
std::int64_t WindowOf(const ModelConfig& config, std::int64_t layer_idx);

bool HasRope(const ModelConfig& config, std::int64_t layer_idx);

// Leading values of a head that turn; even.
int RotaryDim(const ModelConfig& config);

// The model that an opened checkpoint holds. `overrides` (an object or null) are members put over
// config.json's, nested objects member by member; for a GGUF file they go over its metadata under
// config.json's names.
//
// kUnimplemented, with the nearest known name, for an architecture that no family computes and for
// a rope type, an activation or a quantization that none knows; kInvalidArgument naming the field
// for missing or senseless values.
Result<ModelConfig> ReadModelConfig(const Checkpoint& checkpoint, const Json& overrides);

// The parts of it. weight_dtype is what config.json says. `tensors` are all tensors of the GGUF's
// parts: they tell the vocabulary, biases and whether the head is tied.
Result<ModelConfig> ModelConfigFromHf(const Json& config, const Json& overrides);
Result<ModelConfig> ModelConfigFromGguf(const GgufHeader& gguf, std::span<const TensorInfo> tensors,
                                        const Json& overrides);

}  // namespace quire
