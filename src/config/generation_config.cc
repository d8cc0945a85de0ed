#include "config/generation_config.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "base/file_kind.h"
#include "base/strings.h"
#include "config/field_value.h"

namespace quire {

namespace {

constexpr std::string_view kFileName = "generation_config.json";
constexpr std::streamsize kMaxFileBytes = std::streamsize{1} << 20;
constexpr int kAnyId = std::numeric_limits<int>::max();

// The list of default fields by name, and what they are defaults of.
template <typename Config, typename Visitor>
void VisitDefaults(Config& c, Visitor&& visit) {
  visit("temperature", c.temperature, &SamplingParams::temperature);
  visit("top_p", c.top_p, &SamplingParams::top_p);
  visit("top_k", c.top_k, &SamplingParams::top_k);
  visit("min_p", c.min_p, &SamplingParams::min_p);
  visit("typical_p", c.typical_p, &SamplingParams::typical_p);
  visit("repetition_penalty", c.repetition_penalty, &SamplingParams::repetition_penalty);
}

template <typename T>
Status ReadOptional(const Json& object, std::string_view name, std::optional<T>& field) {
  const Json* const member = object.Find(name);
  if (member == nullptr || member->is_null()) return {};
  T value{};
  QUIRE_RETURN_IF_ERROR(FieldFromJson(*member, value).With(name));
  field = value;
  return {};
}

// One id or a list of them.
Status ReadEos(const Json& object, std::vector<TokenId>& ids) {
  const Json* const member = object.Find("eos_token_id");
  if (member == nullptr || member->is_null()) return {};
  const Json list = member->is_array() ? *member : Json(JsonArray{*member});
  QUIRE_RETURN_IF_ERROR(FieldFromJson(list, ids).With("eos_token_id"));
  // Some files write -1 for none.
  ids.erase(std::remove(ids.begin(), ids.end(), TokenId{-1}), ids.end());
  for (const TokenId id : ids) {
    if (id < 0) return InvalidArgument(StrCat("eos_token_id: must be at least 0, got ", id));
  }
  return {};
}

std::string PathIn(const std::string& folder) { return StrCat(folder, "/", kFileName); }

// The object in `folder`'s file; null where there is no such file.
Result<Json> ReadFile(const std::string& folder) {
  const std::string path = PathIn(folder);
  QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(path));
  if (!is_there) return Json();
  std::ifstream file(path, std::ios::binary);
  if (!file) return DataLoss(StrCat(path, ": cannot be read"));
  std::string text(static_cast<std::size_t>(kMaxFileBytes) + 1, '\0');
  file.read(text.data(), kMaxFileBytes + 1);
  if (file.bad()) return DataLoss(StrCat(path, ": cannot be read"));
  if (file.gcount() > kMaxFileBytes) {
    return InvalidArgument(StrCat(path, ": must be at most ", kMaxFileBytes, " bytes"));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  auto parsed = ParseJson(text, {.python_literals = true});
  if (!parsed.ok()) return parsed.status().With(path);
  if (!parsed->is_object()) {
    return InvalidArgument(StrCat(path, ": must be an object, got ", parsed->kind()));
  }
  return parsed;
}

Result<Json> ReadNamedFolder(const std::string& folder) {
  QUIRE_ASSIGN_OR_RETURN(Json file, ReadFile(folder));
  if (!file.is_null()) return file;
  return NotFound(StrCat("generation-config: '", Printable(folder), "' has no ", kFileName));
}

}  // namespace

SamplingParams GenerationConfig::Defaults() const {
  SamplingParams params;
  VisitDefaults(*this, [&](std::string_view, const auto& value, auto field) {
    if (value) params.*field = *value;
  });
  if (max_new_tokens) params.max_tokens = max_new_tokens;
  return params;
}

Result<GenerationConfig> ParseGenerationConfig(const Json& value) {
  GenerationConfig config;
  if (value.is_null()) return config;
  if (!value.is_object()) {
    return InvalidArgument(StrCat("must be an object, got ", value.kind()));
  }
  QUIRE_RETURN_IF_ERROR(ReadEos(value, config.eos_token_ids));
  Status status;
  VisitDefaults(config, [&](std::string_view name, auto& field, auto) {
    if (status.ok()) status = ReadOptional(value, name, field);
  });
  QUIRE_RETURN_IF_ERROR(status);
  QUIRE_RETURN_IF_ERROR(ReadOptional(value, "max_new_tokens", config.max_new_tokens));
  if (config.max_new_tokens && *config.max_new_tokens < 1) {
    return InvalidArgument(
        StrCat("max_new_tokens: must be at least 1, got ", *config.max_new_tokens));
  }
  QUIRE_RETURN_IF_ERROR(config.Defaults().Validate(kAnyId, kAllLogprobs));
  return config;
}

Status CheckGenerationOverrides(const Json& overrides) {
  QUIRE_RETURN_IF_ERROR(ParseGenerationConfig(overrides).status());
  if (!overrides.is_object()) return {};
  std::vector<std::string> known = {"eos_token_id", "max_new_tokens"};
  const GenerationConfig none;
  VisitDefaults(none, [&](std::string_view name, const auto&, auto) { known.emplace_back(name); });
  for (const auto& [name, value] : overrides.object()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::optional<std::string> nearest = NearestName(name, known);
    if (nearest) {
      return InvalidArgument(
          StrCat(Printable(name), ": there is no such field; did you mean ", *nearest, "?"));
    }
  }
  return {};
}

Result<GenerationConfig> LoadGenerationConfig(const ModelOptions& options,
                                              const std::string& model_folder) {
  const bool is_named = options.generation_config != "auto" && options.generation_config != "vllm";
  const std::string& folder = is_named ? options.generation_config : model_folder;
  Json file;
  if (is_named) {
    QUIRE_ASSIGN_OR_RETURN(file, ReadNamedFolder(folder));
  } else if (!folder.empty()) {
    QUIRE_ASSIGN_OR_RETURN(file, ReadFile(folder));
  }
  if (options.generation_config == "vllm" && file.is_object()) {
    const Json* const eos = file.Find("eos_token_id");
    file = eos == nullptr ? Json() : Json(JsonObject{{"eos_token_id", *eos}});
  }
  for (const auto& [name, member] : options.override_generation_config.is_object()
                                        ? options.override_generation_config.object()
                                        : JsonObject()) {
    file[name] = member;
  }
  // The overrides are checked before, so what is wrong stands in the file, if there is one.
  auto config = ParseGenerationConfig(file);
  if (config.ok()) return config;
  return config.status().With(folder.empty() ? "generation config" : PathIn(folder));
}

}  // namespace quire
