// Phi-3: Llama whose file has q, k, v in one matrix and gate, up in another, with one window for
// all layers.
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/families/llama.h"

namespace quire {
namespace {

Status Read(const Json& config, ModelConfig& model) {
  model.fused_projections = true;
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t window, ReadWindow(config, 0));
  return ReadLayerWindows(config, window, /*first_windowed=*/0, model);
}

}  // namespace

const Family kPhi3 = {
    .name = "phi3",
    .architecture = "Phi3ForCausalLM",
    .model_type = "phi3",
    .gguf_architecture = "phi3",
    .gguf_rope_style = ops::RopeStyle::kHalf,
    .defaults = {.max_positions = 4096},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
