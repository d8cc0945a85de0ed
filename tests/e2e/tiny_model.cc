#include "tiny_model.h"

#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/strings.h"
#include "engine/testing.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "platform/mapped_file.h"

namespace quire {
namespace {

constexpr int kHidden = 64;
constexpr int kIntermediate = 96;
constexpr int kLayers = 2;
constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 16;

class Weights {
 public:
  void Add(std::string name, std::vector<std::int64_t> shape, float spread, float center = 0.0F) {
    std::int64_t count = 1;
    for (const std::int64_t dim : shape) count *= dim;
    std::vector<float> values(static_cast<std::size_t>(count));
    const std::uint64_t stream = names_.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double draw = UniformDraw(7, stream, i) + UniformDraw(8, stream, i) - 1.0;
      values[i] = center + spread * static_cast<float>(draw);
    }
    names_.push_back(std::move(name));
    shapes_.push_back(std::move(shape));
    values_.push_back(std::move(values));
  }
  std::vector<std::byte> Serialize() const {
    std::vector<NamedArray> arrays;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      arrays.push_back({.name = names_[i], .shape = shapes_[i], .values = values_[i]});
    }
    return SerializeSafetensors(arrays);
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::vector<float>> values_;
};

void AddLayer(int layer, Weights& weights) {
  const std::string prefix = StrCat("model.layers.", layer, ".");
  weights.Add(prefix + "input_layernorm.weight", {kHidden}, 0.2F, 1.0F);
  weights.Add(prefix + "post_attention_layernorm.weight", {kHidden}, 0.2F, 1.0F);
  weights.Add(prefix + "self_attn.q_proj.weight", {kHeads * kHeadDim, kHidden}, 0.4F);
  weights.Add(prefix + "self_attn.k_proj.weight", {kKvHeads * kHeadDim, kHidden}, 0.4F);
  weights.Add(prefix + "self_attn.v_proj.weight", {kKvHeads * kHeadDim, kHidden}, 0.4F);
  weights.Add(prefix + "self_attn.o_proj.weight", {kHidden, kHeads * kHeadDim}, 0.4F);
  weights.Add(prefix + "mlp.gate_proj.weight", {kIntermediate, kHidden}, 0.3F);
  weights.Add(prefix + "mlp.up_proj.weight", {kIntermediate, kHidden}, 0.3F);
  weights.Add(prefix + "mlp.down_proj.weight", {kHidden, kIntermediate}, 0.3F);
}

Json Config(int window) {
  Json config;
  config["architectures"] =
      Json(JsonArray{Json(window > 0 ? "MistralForCausalLM" : "LlamaForCausalLM")});
  config["model_type"] = Json(window > 0 ? "mistral" : "llama");
  config["vocab_size"] = Json(kTinyVocab);
  config["hidden_size"] = Json(kHidden);
  config["intermediate_size"] = Json(kIntermediate);
  config["num_hidden_layers"] = Json(kLayers);
  config["num_attention_heads"] = Json(kHeads);
  config["num_key_value_heads"] = Json(kKvHeads);
  config["max_position_embeddings"] = Json(kTinyContext);
  config["rms_norm_eps"] = Json(1e-5);
  config["rope_theta"] = Json(10000.0);
  config["hidden_act"] = Json("silu");
  config["bos_token_id"] = Json(1);
  config["eos_token_id"] = Json(2);
  config["tie_word_embeddings"] = Json(false);
  config["torch_dtype"] = Json("float32");
  if (window > 0) config["sliding_window"] = Json(window);
  return config;
}

}  // namespace

Status WriteTinyModel(const std::string& folder, int window) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Weights weights;
  weights.Add("model.embed_tokens.weight", {kTinyVocab, kHidden}, 1.0F);
  for (int layer = 0; layer < kLayers; ++layer) AddLayer(layer, weights);
  weights.Add("model.norm.weight", {kHidden}, 0.2F, 1.0F);
  weights.Add("lm_head.weight", {kTinyVocab, kHidden}, 0.4F);
  QUIRE_RETURN_IF_ERROR(WriteFile(folder + "/model.safetensors", weights.Serialize()));
  const std::string config = Config(window).Dump();
  return WriteFile(folder + "/config.json", std::as_bytes(std::span(config)));
}

Status WriteTinyTokenizer(const std::string& folder) {
  const std::string tokenizer = TestTokenizerJson();
  QUIRE_RETURN_IF_ERROR(WriteFile(folder + "/tokenizer.json", std::as_bytes(std::span(tokenizer))));
  const std::string config =
      R"({"eos_token": "<|end|>", "chat_template": "{% for m in messages %}{{ m['role'] }}: )"
      R"({{ m['content'] }}\n{% endfor %}assistant:"})";
  return WriteFile(folder + "/tokenizer_config.json", std::as_bytes(std::span(config)));
}

}  // namespace quire
