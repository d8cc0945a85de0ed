// Mistral: Llama without biases, every layer behind one sliding window where the config has one.
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/families/llama.h"

namespace quire {
namespace {

constexpr std::int64_t kDefaultWindow = 4096;  // where the config does not mention a window

Status Read(const Json& config, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t window, ReadWindow(config, kDefaultWindow));
  return ReadLayerWindows(config, window, /*first_windowed=*/0, model);
}

}  // namespace

const Family kMistral = {
    .name = "mistral",
    .architecture = "MistralForCausalLM",
    .model_type = "mistral",
    .gguf_architecture = "",  // such files name themselves llama
    .gguf_rope_style = ops::RopeStyle::kInterleaved,
    .defaults = {.num_kv_heads = 8, .head_dim = 0, .max_positions = 131072},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
