// Qwen2 and Qwen2.5: Llama with biases on q, k and v only, and a sliding window that covers the
// upper layers where it is switched on.
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/families/llama.h"

namespace quire {
namespace {

Status Read(const Json& config, ModelConfig& model) {
  model.qkv_bias = true;
  return ReadUpperLayerWindows(config, model);
}

}  // namespace

const Family kQwen2 = {
    .name = "qwen2",
    .architecture = "Qwen2ForCausalLM",
    .model_type = "qwen2",
    .gguf_architecture = "qwen2",
    .gguf_rope_style = ops::RopeStyle::kHalf,
    .defaults = {.num_kv_heads = 32, .head_dim = 0, .max_positions = 32768},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
