// Qwen3: Qwen2 without its biases, with a norm over each head of q and k.
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/families/llama.h"

namespace quire {
namespace {

Status Read(const Json& config, ModelConfig& model) {
  model.qk_norm = true;
  QUIRE_ASSIGN_OR_RETURN(model.qkv_bias, BoolOr(config, "attention_bias", false));
  model.output_bias = model.qkv_bias;
  return ReadUpperLayerWindows(config, model);
}

}  // namespace

const Family kQwen3 = {
    .name = "qwen3",
    .architecture = "Qwen3ForCausalLM",
    .model_type = "qwen3",
    .gguf_architecture = "qwen3",
    .gguf_rope_style = ops::RopeStyle::kHalf,
    .defaults = {.num_kv_heads = 32, .head_dim = 128, .max_positions = 32768},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
