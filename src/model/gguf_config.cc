// GGUF metadata as the members of config.json that say the same.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/strings.h"
#include "model/config_reader.h"

namespace quire {
namespace {

// Reads "ARCH.KEY" keys of one header.
class GgufReader {
 public:
  GgufReader(const GgufHeader& gguf, std::string_view arch) : gguf_(gguf), arch_(arch) {}

  std::string Key(std::string_view key) const { return StrCat(arch_, ".", key); }

  Result<std::optional<double>> Number(std::string_view key) const {
    return gguf_.Number(Key(key));
  }

  // An integer, or an array that gives each layer the same one.
  Result<std::optional<std::int64_t>> Int(std::string_view key) const {
    const std::string full = Key(key);
    const GgufArray* array = gguf_.Array(full);
    if (array == nullptr) return gguf_.Int(full);
    const std::vector<std::int64_t> values = array->Integers();
    if (values.empty()) return DataLoss(StrCat(full, ": must hold integers"));
    const bool is_even = std::all_of(values.begin(), values.end(),
                                     [&](std::int64_t value) { return value == values[0]; });
    if (!is_even) {
      return Unimplemented(StrCat(full, ": layers of different sizes are not supported"));
    }
    return std::optional<std::int64_t>(values[0]);
  }

  // Puts the key's value into `config` under `name` where the file has it.
  Status CopyInt(std::string_view key, std::string_view name, Json& config) const {
    QUIRE_ASSIGN_OR_RETURN(const auto value, Int(key));
    if (value) config[name] = *value;
    return {};
  }
  Status CopyNumber(std::string_view key, std::string_view name, Json& config) const {
    QUIRE_ASSIGN_OR_RETURN(const auto value, Number(key));
    if (value) config[name] = *value;
    return {};
  }
  Result<std::int64_t> RequireInt(std::string_view key) const {
    QUIRE_ASSIGN_OR_RETURN(const auto value, Int(key));
    if (!value) return DataLoss(StrCat(Key(key), ": is absent"));
    return *value;
  }

  const GgufHeader& gguf() const { return gguf_; }

 private:
  const GgufHeader& gguf_;
  std::string_view arch_;
};

const TensorInfo* FindTensor(std::span<const TensorInfo> tensors, std::string_view name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<const Family*> FindGgufFamily(std::string_view arch) {
  std::vector<std::string> known;
  for (const Family* family : Families()) {
    if (family->gguf_architecture.empty()) continue;
    if (family->gguf_architecture == arch) return family;
    known.emplace_back(family->gguf_architecture);
  }
  const std::optional<std::string> nearest = NearestName(arch, known);
  return Unimplemented(StrCat("GGUF architecture ", Printable(arch), " is not supported; ",
                              nearest ? StrCat("the nearest that is: ", *nearest)
                                      : StrCat("supported are ", Join(known, ", "))));
}

Status CopySizes(const GgufReader& reader, Json& config) {
  struct Field {
    std::string_view key;
    std::string_view name;
  };
  static constexpr Field kRequired[] = {
      {"embedding_length", "hidden_size"},
      {"feed_forward_length", "intermediate_size"},
      {"block_count", "num_hidden_layers"},
      {"attention.head_count", "num_attention_heads"},
      {"context_length", "max_position_embeddings"},
  };
  for (const Field& field : kRequired) {
    QUIRE_ASSIGN_OR_RETURN(config[field.name], reader.RequireInt(field.key));
  }
  // Where the file does not say, heads share nothing.
  config["num_key_value_heads"] = nullptr;
  QUIRE_RETURN_IF_ERROR(reader.CopyInt("attention.head_count_kv", "num_key_value_heads", config));
  QUIRE_RETURN_IF_ERROR(reader.CopyInt("attention.key_length", "head_dim", config));
  QUIRE_ASSIGN_OR_RETURN(const auto value_length, reader.Int("attention.value_length"));
  const Json* head_dim = config.Find("head_dim");
  if (value_length && head_dim != nullptr && head_dim->integer() != *value_length) {
    return Unimplemented(StrCat(reader.Key("attention.value_length"), ": ", *value_length,
                                " differs from the keys' ", head_dim->integer(),
                                ", which is not supported"));
  }
  QUIRE_ASSIGN_OR_RETURN(const auto num_experts, reader.Int("expert_count"));
  if (num_experts.value_or(0) > 0) {
    return Unimplemented(
        StrCat(reader.Key("expert_count"), ": a mixture of experts is not supported"));
  }
  constexpr std::string_view kEpsilon = "attention.layer_norm_rms_epsilon";
  QUIRE_ASSIGN_OR_RETURN(const auto epsilon, reader.Number(kEpsilon));
  if (!epsilon) return DataLoss(StrCat(reader.Key(kEpsilon), ": is absent"));
  config["rms_norm_eps"] = *epsilon;
  return {};
}

// What yarn multiplies cosines and sines with, in the way GGUF's tools count it.
Result<std::optional<double>> YarnFactor(const GgufReader& reader, double factor) {
  for (const std::string_view key : {"rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"}) {
    QUIRE_ASSIGN_OR_RETURN(const auto attn_factor, reader.Number(key));
    if (attn_factor && *attn_factor != 1.0 && factor > 0) {
      return std::optional<double>(*attn_factor * (1.0 + 0.1 * std::log(factor)));
    }
  }
  return std::optional<double>();
}

Status CopyScaling(const GgufReader& reader, Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const auto type, reader.gguf().String(reader.Key("rope.scaling.type")));
  QUIRE_ASSIGN_OR_RETURN(auto factor, reader.Number("rope.scaling.factor"));
  if (!factor) {
    QUIRE_ASSIGN_OR_RETURN(factor, reader.Number("rope.scale_linear"));  // of old files
  }
  const bool is_linear_by_default = !type && factor && *factor != 1.0 && *factor != 0.0;
  if (!is_linear_by_default && (!type || *type == "none")) return {};
  Json scaling((JsonObject()));
  scaling["rope_type"] = is_linear_by_default ? std::string_view("linear") : *type;
  if (factor) scaling["factor"] = *factor;
  QUIRE_RETURN_IF_ERROR(reader.CopyInt("rope.scaling.original_context_length",
                                       "original_max_position_embeddings", scaling));
  QUIRE_RETURN_IF_ERROR(reader.CopyNumber("rope.scaling.yarn_beta_fast", "beta_fast", scaling));
  QUIRE_RETURN_IF_ERROR(reader.CopyNumber("rope.scaling.yarn_beta_slow", "beta_slow", scaling));
  QUIRE_ASSIGN_OR_RETURN(const auto attention_factor, YarnFactor(reader, factor.value_or(1.0)));
  if (attention_factor) scaling["attention_factor"] = *attention_factor;
  config["rope_scaling"] = std::move(scaling);
  return {};
}

Status CopyRope(const GgufReader& reader, Json& config) {
  QUIRE_RETURN_IF_ERROR(reader.CopyNumber("rope.freq_base", "rope_theta", config));
  QUIRE_ASSIGN_OR_RETURN(const auto rotary_dim, reader.Int("rope.dimension_count"));
  if (rotary_dim) {
    const Json* head_dim = config.Find("head_dim");
    const std::int64_t heads = std::max<std::int64_t>(1, config["num_attention_heads"].integer());
    const std::int64_t width =
        head_dim != nullptr ? head_dim->integer() : config["hidden_size"].integer() / heads;
    if (width < 2) return {};  // of sizes that are refused by their own names
    if (*rotary_dim < 2 || *rotary_dim > width) {
      return InvalidArgument(StrCat(reader.Key("rope.dimension_count"), ": must be from 2 to ",
                                    width, ", got ", *rotary_dim));
    }
    config["partial_rotary_factor"] = static_cast<double>(*rotary_dim) / static_cast<double>(width);
  }
  return CopyScaling(reader, config);
}

// A window in the file holds for every layer.
Status CopyWindow(const GgufReader& reader, Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const auto window, reader.Int("attention.sliding_window"));
  if (!window || *window == 0) return {};
  config["sliding_window"] = *window;
  config["use_sliding_window"] = true;
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t layers,
                         ReadInt(config, "num_hidden_layers", {1, 10'000}));
  config["layer_types"] = JsonArray(static_cast<std::size_t>(layers), Json("sliding_attention"));
  return {};
}

// Constant factors; only families that know them read them.
Status CopyMultipliers(const GgufReader& reader, Json& config) {
  static constexpr std::pair<std::string_view, std::string_view> kFactors[] = {
      {"embedding_scale", "embedding_multiplier"},
      {"residual_scale", "residual_multiplier"},
      {"attention.scale", "attention_multiplier"},
      {"logit_scale", "logits_scaling"},
  };
  for (const auto& [key, name] : kFactors) {
    QUIRE_RETURN_IF_ERROR(reader.CopyNumber(key, name, config));
  }
  return {};
}

Status CopyTokens(const GgufHeader& gguf, Json& config) {
  JsonArray eos;
  for (const std::string_view key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
    QUIRE_ASSIGN_OR_RETURN(const auto id, gguf.Int(key));
    if (id && std::find(eos.begin(), eos.end(), Json(*id)) == eos.end()) eos.emplace_back(*id);
  }
  config["eos_token_id"] = std::move(eos);
  QUIRE_ASSIGN_OR_RETURN(const auto bos, gguf.Int("tokenizer.ggml.bos_token_id"));
  if (bos) config["bos_token_id"] = *bos;
  return {};
}

Status CopyVocab(const GgufReader& reader, std::span<const TensorInfo> tensors, Json& config) {
  const TensorInfo* table = FindTensor(tensors, "token_embd.weight");
  if (table != nullptr && table->shape.size() == 2) {
    config["vocab_size"] = table->shape[0];
    return {};
  }
  QUIRE_ASSIGN_OR_RETURN(const auto size, reader.Int("vocab_size"));
  if (!size) return DataLoss("token_embd.weight: is absent, and so is its vocabulary size");
  config["vocab_size"] = *size;
  return {};
}

Result<Json> ConfigFromGguf(const GgufReader& reader, const Family& family,
                            std::span<const TensorInfo> tensors) {
  Json config((JsonObject()));
  config["architectures"] = JsonArray{Json(family.architecture)};
  QUIRE_RETURN_IF_ERROR(CopySizes(reader, config));
  QUIRE_RETURN_IF_ERROR(CopyRope(reader, config));
  QUIRE_RETURN_IF_ERROR(CopyWindow(reader, config));
  QUIRE_RETURN_IF_ERROR(CopyMultipliers(reader, config));
  QUIRE_RETURN_IF_ERROR(CopyTokens(reader.gguf(), config));
  QUIRE_RETURN_IF_ERROR(CopyVocab(reader, tensors, config));
  config["tie_word_embeddings"] = FindTensor(tensors, "output.weight") == nullptr;
  QUIRE_ASSIGN_OR_RETURN(const auto name, reader.gguf().String("general.name"));
  if (name) config["_name_or_path"] = *name;
  return config;
}

}  // namespace

Result<ModelConfig> ModelConfigFromGguf(const GgufHeader& gguf, std::span<const TensorInfo> tensors,
                                        const Json& overrides) {
  QUIRE_ASSIGN_OR_RETURN(const auto arch, gguf.String("general.architecture"));
  if (!arch) return DataLoss("general.architecture: is absent");
  QUIRE_ASSIGN_OR_RETURN(const Family* family, FindGgufFamily(*arch));
  QUIRE_ASSIGN_OR_RETURN(const Json config,
                         ConfigFromGguf(GgufReader(gguf, *arch), *family, tensors));
  Result<ModelConfig> model = ModelConfigFromHf(config, overrides);
  if (!model.ok()) return model.status().With("metadata under config.json's names");
  model->rope.style = family->gguf_rope_style;
  // Biases are there or not; no metadata says so.
  model->qkv_bias = FindTensor(tensors, "blk.0.attn_q.bias") != nullptr;
  model->output_bias = FindTensor(tensors, "blk.0.attn_output.bias") != nullptr;
  model->mlp_bias = FindTensor(tensors, "blk.0.ffn_gate.bias") != nullptr;
  return model;
}

}  // namespace quire
