// Hugging Face's tensor names and GGUF's.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "model/weight_map.h"

namespace quire {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kLayers = "model.layers.";

// Without ".weight" or ".bias".
constexpr NamePair kTopLevel[] = {
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
};

// After "model.layers.N." and "blk.N.".
constexpr NamePair kInLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
};

// The first of `pairs` that `stem` equals; empty where there is none.
template <std::size_t kCount>
std::string_view Translate(const NamePair (&pairs)[kCount], std::string_view stem) {
  const auto found = std::find_if(std::begin(pairs), std::end(pairs),
                                  [&](const NamePair& pair) { return pair.first == stem; });
  return found == std::end(pairs) ? std::string_view() : found->second;
}

}  // namespace

std::string GgufTensorName(std::string_view name) {
  const std::size_t suffix = name.rfind('.');
  if (suffix == std::string_view::npos) return std::string(name);
  const std::string_view stem = name.substr(0, suffix);
  const std::string_view ending = name.substr(suffix);
  if (const std::string_view found = Translate(kTopLevel, stem); !found.empty()) {
    return StrCat(found, ending);
  }
  if (!stem.starts_with(kLayers)) return std::string(name);
  const std::string_view rest = stem.substr(kLayers.size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string_view found = Translate(kInLayer, rest.substr(dot + 1));
  if (found.empty()) return std::string(name);
  return StrCat("blk.", rest.substr(0, dot), ".", found, ending);
}

}  // namespace quire
