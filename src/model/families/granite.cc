// Granite: Llama with constant factors on embeddings, scores, residuals and logits.
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/families/llama.h"

namespace quire {
namespace {

constexpr double kMaxMultiplier = 1e6;

Status Read(const Json& config, ModelConfig& model) {
  QUIRE_RETURN_IF_ERROR(ReadLlamaBiases(config, model));
  const auto read = [&](std::string_view name) {
    return ReadPositiveOr(config, name, 1.0, kMaxMultiplier);
  };
  QUIRE_ASSIGN_OR_RETURN(model.embedding_multiplier, read("embedding_multiplier"));
  QUIRE_ASSIGN_OR_RETURN(model.residual_multiplier, read("residual_multiplier"));
  QUIRE_ASSIGN_OR_RETURN(model.attention_scale, read("attention_multiplier"));
  QUIRE_ASSIGN_OR_RETURN(model.logits_divisor, read("logits_scaling"));
  return {};
}

}  // namespace

const Family kGranite = {
    .name = "granite",
    .architecture = "GraniteForCausalLM",
    .model_type = "granite",
    .gguf_architecture = "granite",
    .gguf_rope_style = ops::RopeStyle::kInterleaved,
    .defaults = {},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
