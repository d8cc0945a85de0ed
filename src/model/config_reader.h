// Reading config.json: bounded fields, and the patterns that several families share.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "formats/json.h"
#include "model/families/family.h"
#include "model/model_config.h"

namespace quire {

// The integer member `name` in [min, max]. kInvalidArgument "NAME: must be …, got …" otherwise.
struct IntBounds {
  std::int64_t min;
  std::int64_t max;
};
Result<std::int64_t> ReadInt(const Json& config, std::string_view name, IntBounds bounds);
// The same, with `fallback` where the member is absent or null.
Result<std::int64_t> ReadIntOr(const Json& config, std::string_view name, std::int64_t fallback,
                               IntBounds bounds);

// The finite number `name` in (0, max], or `fallback`.
Result<double> ReadPositiveOr(const Json& config, std::string_view name, double fallback,
                              double max);

// The family that the config's architectures or model_type names; kUnimplemented otherwise.
Result<const Family*> FindFamily(const Json& config);

// rope_parameters, or rope_scaling and rope_theta, into model.rope; also raises
// model.max_positions by what the scaling adds. head_dim and max_positions must be set, and
// rope.theta to what holds where the config is silent.
Status ReadRope(const Json& config, ModelConfig& model);

// sliding_window: `fallback` where the member is absent, 0 where it is null.
Result<std::int64_t> ReadWindow(const Json& config, std::int64_t fallback);

// Fills layer_windows from layer_types where the config lists them, otherwise gives `window` to
// the layers from `first_windowed` on. `window` 0 with a layer that needs one is an error.
Status ReadLayerWindows(const Json& config, std::int64_t window, std::int64_t first_windowed,
                        ModelConfig& model);

// attention_bias, for all four projections, and mlp_bias.
Status ReadLlamaBiases(const Json& config, ModelConfig& model);

// Qwen's rule: use_sliding_window, sliding_window, and max_window_layers without a window below.
Status ReadUpperLayerWindows(const Json& config, ModelConfig& model);

}  // namespace quire
