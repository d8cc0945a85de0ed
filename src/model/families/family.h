// What a family of models is to the loader: the names it goes by, how its config is read, how it
// is built. docs/adding-a-model.md shows how to write one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "formats/json.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "model/model_config.h"
#include "ops/context.h"
#include "ops/elementwise.h"

namespace quire {

// What the family's published code assumes where config.json is silent.
struct FamilyDefaults {
  std::int64_t num_kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;      // 0: hidden_size / num_attention_heads
  std::int64_t max_positions = 2048;
  double rope_theta = 10000.0;
  bool tie_embeddings = false;
};

struct Family {
  std::string_view name;
  std::string_view architecture;       // config.json's architectures[0]
  std::string_view model_type;         // config.json's model_type, where architectures is absent
  std::string_view gguf_architecture;  // general.architecture; empty: no GGUF files of it
  ops::RopeStyle gguf_rope_style;      // q and k rows of some GGUF files are put in another order
  FamilyDefaults defaults;

  // Sets what is this family's own, after the fields that all share: biases, norms, windows.
  Status (*read)(const Json& config, ModelConfig& model);

  // Loads the weights and builds the model.
  Result<std::unique_ptr<Model>> (*load)(ops::OpContext& ctx,
                                         std::shared_ptr<const Checkpoint> checkpoint,
                                         const ModelConfig& config, const LoadOptions& options);
};

// Every family that Quire computes.
std::span<const Family* const> Families();

}  // namespace quire
