// SmolLM3: Llama in which some layers, by default every fourth, do without rotary positions.
#include "base/strings.h"
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/families/llama.h"

namespace quire {
namespace {

constexpr std::int64_t kDefaultInterval = 4;

// no_rope_layers has a 1, in spite of its name, for a layer that turns.
Status ReadLayerRopes(const Json& config, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(
      const std::int64_t interval,
      ReadIntOr(config, "no_rope_layer_interval", kDefaultInterval, {1, model.num_layers + 4}));
  const std::size_t num_layers = static_cast<std::size_t>(model.num_layers);
  const Json* list = config.Find("no_rope_layers");
  const bool has_list = list != nullptr && !list->is_null();
  if (has_list && (!list->is_array() || list->array().size() != num_layers)) {
    return InvalidArgument(
        StrCat("no_rope_layers: must be an array of num_hidden_layers = ", num_layers, " numbers"));
  }
  for (std::size_t i = 0; i < num_layers; ++i) {
    bool has_rope = (static_cast<std::int64_t>(i) + 1) % interval != 0;
    if (has_list) {
      const Json& entry = list->array()[i];
      if (!entry.is_int()) {
        return InvalidArgument(StrCat("no_rope_layers: must hold 0 and 1, got ", entry.kind()));
      }
      has_rope = entry.integer() != 0;
    }
    model.layer_ropes.push_back(has_rope);
  }
  return {};
}

Status Read(const Json& config, ModelConfig& model) {
  QUIRE_RETURN_IF_ERROR(ReadLlamaBiases(config, model));
  QUIRE_RETURN_IF_ERROR(ReadLayerRopes(config, model));
  QUIRE_ASSIGN_OR_RETURN(const bool is_windowed, BoolOr(config, "use_sliding_window", false));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t window, ReadWindow(config, 0));
  if (!is_windowed || window == 0) return {};
  QUIRE_RETURN_IF_ERROR(ReadLayerWindows(config, window, /*first_windowed=*/0, model));
  if (const Json* types = config.Find("layer_types"); types != nullptr && !types->is_null()) {
    return {};
  }
  // Without a list the window is that of the layers without rotary positions.
  for (std::size_t i = 0; i < model.layer_windows.size(); ++i) {
    if (model.layer_ropes[i]) model.layer_windows[i] = 0;
  }
  return {};
}

}  // namespace

const Family kSmollm3 = {
    .name = "smollm3",
    .architecture = "SmolLM3ForCausalLM",
    .model_type = "smollm3",
    .gguf_architecture = "smollm3",
    .gguf_rope_style = ops::RopeStyle::kInterleaved,
    .defaults = {.num_kv_heads = 4,
                 .max_positions = 32768,
                 .rope_theta = 2000000.0,
                 .tie_embeddings = true},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
