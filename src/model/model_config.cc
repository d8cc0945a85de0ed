#include "model/model_config.h"

#include <array>
#include <map>
#include <utility>

#include "base/strings.h"
#include "model/checkpoint.h"
#include "model/config_reader.h"

namespace quire {
namespace {

constexpr IntBounds kHidden = {1, std::int64_t{1} << 20};
constexpr IntBounds kIntermediate = {1, std::int64_t{1} << 24};
constexpr IntBounds kLayers = {1, 10'000};
constexpr IntBounds kHeads = {1, 1 << 14};
constexpr IntBounds kHeadDim = {2, 1 << 13};
constexpr IntBounds kVocab = {1, 1 << 26};
constexpr IntBounds kPositions = {1, (std::int64_t{1} << 31) - 1};
constexpr std::int64_t kMaxHeadsWidth = 1 << 24;
constexpr std::size_t kMaxEosIds = 1024;

// Puts `over`'s members over `base`'s, nested objects member by member.
void Merge(Json& base, const Json& over) {
  for (const auto& [name, value] : over.object()) {
    Json& place = base[name];
    if (place.is_object() && value.is_object()) {
      Merge(place, value);
    } else {
      place = value;
    }
  }
}

// Overrides in the old style that meet a config in the new one move to where it keeps them.
Json MatchRopeStyle(const Json& config, Json overrides) {
  const Json* parameters = config.Find("rope_parameters");
  if (parameters == nullptr || !parameters->is_object()) return overrides;
  Json moved((JsonObject()));
  if (const Json* scaling = overrides.Find("rope_scaling"); scaling != nullptr) {
    if (scaling->is_object()) {
      moved = *scaling;
    } else if (scaling->is_null()) {
      moved["rope_type"] = "default";
    }
  }
  if (const Json* theta = overrides.Find("rope_theta")) moved["rope_theta"] = *theta;
  if (moved.object().empty()) return overrides;
  if (const Json* given = overrides.Find("rope_parameters"); given && given->is_object()) {
    Merge(moved, *given);
  }
  overrides["rope_parameters"] = std::move(moved);
  return overrides;
}

Result<Json> WithOverrides(const Json& config, const Json& overrides) {
  if (!config.is_object()) {
    return InvalidArgument(StrCat("must be an object, got ", config.kind()));
  }
  Json merged = config;
  if (overrides.is_null()) return merged;
  if (!overrides.is_object()) {
    return InvalidArgument(StrCat("hf_overrides: must be an object, got ", overrides.kind()));
  }
  Merge(merged, MatchRopeStyle(config, overrides));
  return merged;
}

Result<ops::Activation> ReadActivation(const Json& config) {
  static constexpr std::pair<std::string_view, ops::Activation> kKnown[] = {
      {"silu", ops::Activation::kSilu},          {"swish", ops::Activation::kSilu},
      {"gelu", ops::Activation::kGelu},          {"gelu_new", ops::Activation::kGeluTanh},
      {"gelu_fast", ops::Activation::kGeluTanh}, {"gelu_pytorch_tanh", ops::Activation::kGeluTanh},
      {"relu", ops::Activation::kRelu},          {"relu2", ops::Activation::kRelu2},
  };
  QUIRE_ASSIGN_OR_RETURN(const std::string name, StringOr(config, "hidden_act", "silu"));
  std::vector<std::string> names;
  for (const auto& [known, activation] : kKnown) {
    if (name == known) return activation;
    names.emplace_back(known);
  }
  return Unimplemented(
      StrCat("hidden_act: ", Printable(name), " is not supported; known are ", Join(names, ", ")));
}

Status RefuseQuantization(const Json& config) {
  const Json* quantization = config.Find("quantization_config");
  if (quantization == nullptr || quantization->is_null()) return {};
  const Json* method = quantization->Find("quant_method");
  const bool is_named = method != nullptr && method->is_string();
  return Unimplemented(StrCat("quantization_config: method ",
                              is_named ? Printable(method->string()) : "(unnamed)",
                              " is not supported; weights must be F32, F16, BF16 or a GGUF type"));
}

Status ReadSizes(const Json& config, const FamilyDefaults& defaults, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(model.hidden_size, ReadInt(config, "hidden_size", kHidden));
  QUIRE_ASSIGN_OR_RETURN(model.intermediate_size,
                         ReadInt(config, "intermediate_size", kIntermediate));
  QUIRE_ASSIGN_OR_RETURN(model.num_layers, ReadInt(config, "num_hidden_layers", kLayers));
  QUIRE_ASSIGN_OR_RETURN(model.vocab_size, ReadInt(config, "vocab_size", kVocab));
  QUIRE_ASSIGN_OR_RETURN(model.max_positions, ReadIntOr(config, "max_position_embeddings",
                                                        defaults.max_positions, kPositions));
  QUIRE_ASSIGN_OR_RETURN(model.norm_eps, ReadPositiveOr(config, "rms_norm_eps", 1e-6, 1.0));
  return {};
}

Status ReadHeads(const Json& config, const FamilyDefaults& defaults, ModelConfig& model) {
  QUIRE_ASSIGN_OR_RETURN(model.num_heads, ReadInt(config, "num_attention_heads", kHeads));
  const Json* kv_heads = config.Find("num_key_value_heads");
  // Silence means the family's default, null means as many as heads.
  const bool is_null = kv_heads != nullptr && kv_heads->is_null();
  const std::int64_t silent =
      defaults.num_kv_heads == 0 || is_null ? model.num_heads : defaults.num_kv_heads;
  QUIRE_ASSIGN_OR_RETURN(model.num_kv_heads,
                         ReadIntOr(config, "num_key_value_heads", silent, kHeads));
  if (model.num_heads % model.num_kv_heads != 0) {
    return InvalidArgument(StrCat("num_key_value_heads: must divide num_attention_heads = ",
                                  model.num_heads, ", got ", model.num_kv_heads));
  }
  QUIRE_ASSIGN_OR_RETURN(model.head_dim,
                         ReadIntOr(config, "head_dim", defaults.head_dim, kHeadDim));
  if (model.head_dim == 0) {
    if (model.hidden_size % model.num_heads != 0) {
      return InvalidArgument(
          StrCat("num_attention_heads: must divide hidden_size = ", model.hidden_size,
                 " where head_dim is not given, got ", model.num_heads));
    }
    model.head_dim = model.hidden_size / model.num_heads;
  }
  if (model.head_dim < kHeadDim.min || model.head_dim * model.num_heads > kMaxHeadsWidth) {
    return InvalidArgument(
        StrCat("head_dim: ", model.num_heads, " heads of ", model.head_dim, " are not supported"));
  }
  return {};
}

Result<std::optional<std::int32_t>> ReadTokenId(const Json& value, std::string_view name) {
  if (!value.is_int() || value.integer() > kVocab.max) {
    return InvalidArgument(StrCat(name, ": must be a token id, got ",
                                  value.is_int() ? "one out of range" : value.kind()));
  }
  // Some configs write -1 for none.
  if (value.integer() < 0) return std::optional<std::int32_t>();
  return std::optional<std::int32_t>(static_cast<std::int32_t>(value.integer()));
}

Status ReadTokenIds(const Json& config, ModelConfig& model) {
  if (const Json* bos = config.Find("bos_token_id"); bos != nullptr && bos->is_int()) {
    QUIRE_ASSIGN_OR_RETURN(model.bos_token_id, ReadTokenId(*bos, "bos_token_id"));
  }
  const Json* eos = config.Find("eos_token_id");
  if (eos == nullptr || eos->is_null()) return {};
  const JsonArray ids = eos->is_array() ? eos->array() : JsonArray{*eos};
  if (ids.size() > kMaxEosIds) {
    return InvalidArgument(StrCat("eos_token_id: must hold at most ", kMaxEosIds, " ids"));
  }
  for (const Json& id : ids) {
    QUIRE_ASSIGN_OR_RETURN(const auto token, ReadTokenId(id, "eos_token_id"));
    if (token) model.eos_token_ids.push_back(*token);
  }
  return {};
}

DType DeclaredDType(const Json& config) {
  static constexpr std::pair<std::string_view, DType> kKnown[] = {
      {"float16", DType::kF16}, {"bfloat16", DType::kBF16}, {"float32", DType::kF32}};
  for (const std::string_view key : {"dtype", "torch_dtype"}) {
    const Json* member = config.Find(key);
    if (member == nullptr || !member->is_string()) continue;
    for (const auto& [name, dtype] : kKnown) {
      if (member->string() == name) return dtype;
    }
  }
  return DType::kF32;
}

Result<ModelConfig> ReadMerged(const Json& config) {
  ModelConfig model;
  QUIRE_RETURN_IF_ERROR(RefuseQuantization(config));
  QUIRE_ASSIGN_OR_RETURN(const Family* family, FindFamily(config));
  model.family = family->name;
  model.architecture = family->architecture;
  QUIRE_RETURN_IF_ERROR(ReadSizes(config, family->defaults, model));
  QUIRE_RETURN_IF_ERROR(ReadHeads(config, family->defaults, model));
  model.rope.theta = family->defaults.rope_theta;
  QUIRE_RETURN_IF_ERROR(ReadRope(config, model));
  QUIRE_RETURN_IF_ERROR(ReadTokenIds(config, model));
  QUIRE_ASSIGN_OR_RETURN(model.activation, ReadActivation(config));
  QUIRE_ASSIGN_OR_RETURN(model.tie_embeddings,
                         BoolOr(config, "tie_word_embeddings", family->defaults.tie_embeddings));
  QUIRE_ASSIGN_OR_RETURN(model.name, StringOr(config, "_name_or_path", ""));
  model.weight_dtype = DeclaredDType(config);
  QUIRE_RETURN_IF_ERROR(family->read(config, model));
  return model;
}

// The type that holds most of the checkpoint's bytes.
DType MainDType(const Checkpoint& checkpoint) {
  std::map<DType, std::uint64_t> bytes;
  DType main = DType::kF32;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if ((bytes[tensor.type] += tensor.num_bytes) > bytes[main]) main = tensor.type;
  }
  return main;
}

}  // namespace

std::int64_t WindowOf(const ModelConfig& config, std::int64_t layer_idx) {
  if (config.layer_windows.empty()) return 0;
  return config.layer_windows[static_cast<std::size_t>(layer_idx)];
}

bool HasRope(const ModelConfig& config, std::int64_t layer_idx) {
  return config.layer_ropes.empty() || config.layer_ropes[static_cast<std::size_t>(layer_idx)];
}

int RotaryDim(const ModelConfig& config) {
  // The share is a quotient that may fall a hair short of its whole number.
  constexpr double kRounding = 1e-6;
  return static_cast<int>(static_cast<double>(config.head_dim) * config.rope.partial_factor +
                          kRounding);
}

Result<ModelConfig> ModelConfigFromHf(const Json& config, const Json& overrides) {
  QUIRE_ASSIGN_OR_RETURN(const Json merged, WithOverrides(config, overrides));
  return ReadMerged(merged);
}

Result<ModelConfig> ReadModelConfig(const Checkpoint& checkpoint, const Json& overrides) {
  const GgufHeader* gguf = checkpoint.gguf();
  Result<ModelConfig> model = gguf != nullptr
                                  ? ModelConfigFromGguf(*gguf, checkpoint.tensors(), overrides)
                                  : ModelConfigFromHf(checkpoint.config_json(), overrides);
  if (!model.ok()) {
    return model.status().With(StrCat(checkpoint.path(), gguf != nullptr ? "" : "/config.json"));
  }
  model->weight_dtype = MainDType(checkpoint);
  return model;
}

}  // namespace quire
