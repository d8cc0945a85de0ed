#include "apps/quire/inspect_report.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <variant>

#include "apps/quire/json_lines.h"
#include "base/strings.h"
#include "config/generation_config.h"
#include "config/options.h"
#include "config/token_count.h"
#include "engine/load_tokenizer.h"
#include "model/checkpoint.h"
#include "model/memory.h"
#include "model/model_config.h"
#include "runner/paged_kv_cache.h"

namespace quire {

namespace {

Json ErrorObject(const Status& status) {
  return Json(JsonObject{{"error", ToValidUtf8(status.message())}});
}

std::uint64_t FileBytes(const Checkpoint& checkpoint) {
  std::uint64_t sum = 0;
  for (const std::string& name : checkpoint.files()) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(name, error);
    if (!error) sum += size;
  }
  return sum;
}

Json DescribeFiles(const Checkpoint& checkpoint) {
  JsonArray names;
  for (const std::string& name : checkpoint.files()) names.emplace_back(ToValidUtf8(name));
  JsonObject object{{"format", checkpoint.gguf() != nullptr ? "GGUF" : "safetensors"}};
  if (checkpoint.gguf() != nullptr) {
    object.emplace_back("version", static_cast<std::int64_t>(checkpoint.gguf()->version()));
  }
  object.emplace_back("names", std::move(names));
  object.emplace_back("bytes", FileBytes(checkpoint));
  return Json(std::move(object));
}

Json DescribeWeights(const Checkpoint& checkpoint) {
  const WeightSizes sizes = MeasureWeights(checkpoint);
  JsonArray types;
  for (const WeightsOfType& type : sizes.by_type) {
    types.emplace_back(JsonObject{{"type", ToString(type.type)},
                                  {"tensors", type.num_tensors},
                                  {"values", type.num_values},
                                  {"bytes", type.num_bytes}});
  }
  return Json(JsonObject{{"parameters", sizes.num_parameters},
                         {"tensors", static_cast<std::int64_t>(checkpoint.tensors().size())},
                         {"bytes", sizes.num_bytes},
                         {"types", std::move(types)}});
}

Json ListTensors(const Checkpoint& checkpoint) {
  JsonArray list;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    list.emplace_back(JsonObject{{"name", ToValidUtf8(tensor.name)},
                                 {"type", ToString(tensor.type)},
                                 {"shape", JsonArray(tensor.shape.begin(), tensor.shape.end())},
                                 {"bytes", tensor.num_bytes},
                                 {"file", tensor.file_idx},
                                 {"offset", tensor.offset}});
  }
  return Json(std::move(list));
}

// What the file itself calls its architecture, supported or not.
Json DeclaredArchitecture(const Checkpoint& checkpoint) {
  if (checkpoint.gguf() != nullptr) {
    const auto name = checkpoint.gguf()->String("general.architecture");
    return name.ok() && *name ? Json(ToValidUtf8(**name)) : Json();
  }
  const Json* list = checkpoint.config_json().Find("architectures");
  if (list != nullptr && list->is_array() && !list->array().empty()) return list->array().front();
  const Json* type = checkpoint.config_json().Find("model_type");
  return type == nullptr ? Json() : *type;
}

std::string_view ScalingName(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::kNone:
      return "none";
    case RopeScaling::kLinear:
      return "linear";
    case RopeScaling::kDynamic:
      return "dynamic";
    case RopeScaling::kLlama3:
      return "llama3";
    case RopeScaling::kYarn:
      return "yarn";
  }
  return "";
}

Json DescribeArchitecture(const ModelConfig& config) {
  JsonObject object{{"architecture", config.architecture},
                    {"family", config.family},
                    {"name", ToValidUtf8(config.name)},
                    {"context", config.max_positions},
                    {"layers", config.num_layers},
                    {"hidden_size", config.hidden_size},
                    {"intermediate_size", config.intermediate_size},
                    {"heads", config.num_heads},
                    {"kv_heads", config.num_kv_heads},
                    {"head_dim", config.head_dim},
                    {"vocab_size", config.vocab_size},
                    {"tied_embeddings", config.tie_embeddings},
                    {"rope_theta", config.rope.theta},
                    {"rope_scaling", ScalingName(config.rope.scaling)},
                    {"rope_factor", config.rope.factor}};
  const auto widest = std::max_element(config.layer_windows.begin(), config.layer_windows.end());
  if (widest != config.layer_windows.end() && *widest > 0) {
    object.emplace_back("sliding_window", *widest);
    object.emplace_back("sliding_window_layers",
                        std::count_if(config.layer_windows.begin(), config.layer_windows.end(),
                                      [](std::int64_t window) { return window > 0; }));
  }
  return Json(std::move(object));
}

// The length to reckon with: what --max-model-len says, else the model's own.
Result<std::int64_t> LengthOf(const ModelConfig& config, const std::string& wish) {
  const Result<MaxModelLen> parsed = ParseMaxModelLen(wish);
  if (!parsed.ok()) return parsed.status().With("--max-model-len");
  if (const auto* length = std::get_if<std::int64_t>(&*parsed)) return *length;
  return config.max_positions;
}

Result<Json> DescribeMemory(const Checkpoint& checkpoint, const ModelConfig& config,
                            const EngineConfig& engine) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t length, LengthOf(config, engine.model.max_model_len));
  const KvCacheSpec spec = KvSpecOf(config);
  // What auto stands for elsewhere takes as much.
  const auto table = kernels::MakeTable(kernels::CpuIsa::kPortable);
  const KvElement element = KvElementOf(KvCacheElementType(engine, table));
  const std::int64_t kv_bytes =
      KvBytes(spec, {.block_size = engine.cache.block_size, .element = element}, length);
  const std::uint64_t weight_bytes = MeasureWeights(checkpoint).num_bytes;
  return Json(JsonObject{{"tokens", length},
                         {"weight_bytes", weight_bytes},
                         {"kv_bytes_per_token", KvBytesPerToken(spec, element)},
                         {"kv_bytes", kv_bytes},
                         {"total_bytes", weight_bytes + static_cast<std::uint64_t>(kv_bytes)}});
}

Json TokenOf(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  if (!id) return {};
  return Json(JsonObject{{"id", *id}, {"text", ToValidUtf8(tokenizer.TokenText(*id))}});
}

Json DescribeTokenizer(const Tokenizer& tokenizer) {
  JsonArray eos;
  for (const TokenId id : tokenizer.eos_ids()) eos.push_back(TokenOf(tokenizer, id));
  return Json(JsonObject{{"source", tokenizer.description().source},
                         {"model", tokenizer.description().model},
                         {"pre_tokenizer", tokenizer.description().pre_tokenizer},
                         {"vocab_size", tokenizer.vocab_size()},
                         {"bos", TokenOf(tokenizer, tokenizer.bos_id())},
                         {"eos", std::move(eos)},
                         {"pad", TokenOf(tokenizer, tokenizer.pad_id())},
                         {"unk", TokenOf(tokenizer, tokenizer.unk_id())},
                         {"adds_bos", tokenizer.add_bos()},
                         {"adds_eos", tokenizer.add_eos()}});
}

Json DescribeTemplates(const Tokenizer& tokenizer) {
  JsonArray list;
  for (const NamedTemplate& entry : tokenizer.chat_templates()) {
    list.emplace_back(JsonObject{{"name", entry.name},
                                 {"bytes", static_cast<std::int64_t>(entry.source.size())}});
  }
  return Json(std::move(list));
}

// Defaults of sampling that differ from vLLM's own.
Json DescribeGeneration(const ModelOptions& options) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(options.model, error);
  const Result<GenerationConfig> config =
      LoadGenerationConfig(options, is_folder ? options.model : "");
  if (!config.ok()) return ErrorObject(config.status());
  JsonObject changed;
  const Json plain = ToJson(SamplingParams());
  const Json with = ToJson(config->Defaults());
  for (const auto& [name, value] : with.object()) {
    const Json* usual = plain.Find(name);
    if (usual == nullptr || *usual != value) changed.emplace_back(name, value);
  }
  return Json(std::move(changed));
}

}  // namespace

Result<Json> InspectModel(const InspectOptions& options) {
  const ModelOptions& model = options.config.model;
  QUIRE_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::Open(model.model, MapOptions{}));
  JsonObject report{{"path", ToValidUtf8(model.model)},
                    {"architecture", DeclaredArchitecture(*checkpoint)},
                    {"files", DescribeFiles(*checkpoint)},
                    {"weights", DescribeWeights(*checkpoint)}};
  const Result<ModelConfig> config = ReadModelConfig(*checkpoint, model.hf_overrides);
  if (config.ok()) {
    report.emplace_back("model", DescribeArchitecture(*config));
    QUIRE_ASSIGN_OR_RETURN(Json memory, DescribeMemory(*checkpoint, *config, options.config));
    report.emplace_back("memory", std::move(memory));
  } else {
    report.emplace_back("model", ErrorObject(config.status()));
  }
  const auto tokenizer = LoadTokenizer(model.tokenizer.empty() ? model.model : model.tokenizer);
  if (tokenizer.ok()) {
    report.emplace_back("tokenizer", DescribeTokenizer(**tokenizer));
    report.emplace_back("chat_templates", DescribeTemplates(**tokenizer));
  } else {
    report.emplace_back("tokenizer", ErrorObject(tokenizer.status()));
  }
  report.emplace_back("generation", DescribeGeneration(model));
  if (options.tensors) report.emplace_back("tensors", ListTensors(*checkpoint));
  return Json(std::move(report));
}

}  // namespace quire
