// tokenizer_config.json, special_tokens_map.json, generation_config.json and chat templates.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/strings.h"
#include "formats/json.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

namespace {

// A missing file reads as an empty object.
Result<Json> ParseConfig(std::string_view text, std::string_view file) {
  if (text.empty()) return Json(JsonObject());
  Result<Json> json = ParseJson(text, {.python_literals = true});
  if (!json.ok()) return json.status().With(file);
  if (!json->is_object()) return DataLoss(StrCat(file, ": must hold an object"));
  return json;
}

// A special token is given as its text or as an object with its content.
const std::string* TokenContent(const Json* value) {
  if (value == nullptr) return nullptr;
  if (value->is_string()) return &value->string();
  const Json* content = value->Find("content");
  return content != nullptr && content->is_string() ? &content->string() : nullptr;
}

bool IsToken(const Json& value) { return TokenContent(&value) != nullptr; }
bool IsFlag(const Json& value) { return value.is_bool(); }
bool IsText(const Json& value) { return value.is_string(); }
bool IsObject(const Json& value) { return value.is_object(); }

const std::string* TextIn(const Json& object, std::string_view name) {
  const Json* value = object.Find(name);
  return value != nullptr && value->is_string() ? &value->string() : nullptr;
}

bool IsTemplates(const Json& value) {
  if (!value.is_array()) return value.is_string();
  return std::all_of(value.array().begin(), value.array().end(), [](const Json& entry) {
    return TextIn(entry, "name") != nullptr && TextIn(entry, "template") != nullptr;
  });
}

// Members whose absence changes what is computed, so that one of a wrong kind is no absence.
struct MemberRule {
  std::string_view name;
  bool (*is_fine)(const Json& value);
  std::string_view wanted;
};
constexpr std::string_view kTokenWanted = "a string or an object with a content";
constexpr MemberRule kMemberRules[] = {
    {"bos_token", IsToken, kTokenWanted},
    {"eos_token", IsToken, kTokenWanted},
    {"pad_token", IsToken, kTokenWanted},
    {"unk_token", IsToken, kTokenWanted},
    {"add_bos_token", IsFlag, "a boolean"},
    {"add_eos_token", IsFlag, "a boolean"},
    {"tokenizer_class", IsText, "a string"},
    {"added_tokens_decoder", IsObject, "an object"},
    {"chat_template", IsTemplates, "a string or an array of objects with a name and a template"},
};

Status CheckMembers(const Json& config, std::string_view file) {
  for (const MemberRule& rule : kMemberRules) {
    const Json* value = config.Find(rule.name);
    if (value == nullptr || value->is_null() || rule.is_fine(*value)) continue;
    return DataLoss(
        StrCat(file, ": ", rule.name, ": must be ", rule.wanted, ", got ", value->kind()));
  }
  return {};
}

void SetRole(std::string_view name, const std::string& content, TokenizerBuilder& builder) {
  const TokenId id = builder.pipeline().Find(content);
  if (id == kNoToken) return;
  if (name == "bos_token") builder.SetBos(id);
  if (name == "eos_token") builder.SetEos(id);
  if (name == "pad_token") builder.SetPad(id);
  if (name == "unk_token") builder.SetUnk(id);
}

void ApplySpecialTokens(const Json& config, TokenizerBuilder& builder) {
  for (const auto& [name, value] : config.object()) {
    if (!name.ends_with("_token")) continue;
    const std::string* content = TokenContent(&value);
    if (content == nullptr) continue;
    SetRole(name, *content, builder);
    builder.AddTemplateToken(name, *content);
  }
}

bool Flag(const Json& object, std::string_view name, bool fallback) {
  const Json* value = object.Find(name);
  return value != nullptr && value->is_bool() ? value->boolean() : fallback;
}

// added_tokens_decoder: what tokenizer.json may lack.
Status ApplyAddedTokens(const Json& config, TokenizerBuilder& builder) {
  const Json* added = config.Find("added_tokens_decoder");
  if (added == nullptr || !added->is_object()) return {};
  Pipeline& pipeline = builder.pipeline();
  for (const auto& [key, value] : added->object()) {
    const auto id = ParseNumber<TokenId>(key);
    const std::string* content = TokenContent(&value);
    if (!id || *id < 0 || *id > kMaxTokenId || content == nullptr || content->empty()) continue;
    if (pipeline.added.FindByContent(*content) != nullptr) continue;
    const TokenId known = pipeline.vocabulary.Find(*content);
    QUIRE_RETURN_IF_ERROR(builder.AddToken({.id = known == kNoToken ? *id : known,
                                            .content = *content,
                                            .is_special = Flag(value, "special", false),
                                            .strips_left = Flag(value, "lstrip", false),
                                            .strips_right = Flag(value, "rstrip", false),
                                            .is_single_word = Flag(value, "single_word", false),
                                            .is_normalized = Flag(value, "normalized", true)}));
  }
  return {};
}

// Llama's tokenizer classes rebuild their post-processor from the two flags.
void ApplyBosEosFlags(const Json& config, TokenizerBuilder& builder) {
  const Json* class_name = config.Find("tokenizer_class");
  const Json* add_bos = config.Find("add_bos_token");
  const Json* add_eos = config.Find("add_eos_token");
  if (class_name == nullptr || !class_name->is_string()) return;
  const bool has_flags =
      (add_bos != nullptr && add_bos->is_bool()) || (add_eos != nullptr && add_eos->is_bool());
  bool rebuilds = false;
  for (const std::string_view family : {"Llama", "CodeLlama", "Gemma", "Cohere"}) {
    rebuilds |= class_name->string().starts_with(StrCat(family, "Tokenizer"));
  }
  if (!has_flags || !rebuilds) return;
  const bool wants_bos = Flag(config, "add_bos_token", true);
  const bool wants_eos = Flag(config, "add_eos_token", false);
  PostProcessor& post = builder.pipeline().post;
  post.steps.clear();
  post.steps.push_back(MakeBosEosTemplate(wants_bos ? builder.bos_id() : std::nullopt,
                                          wants_eos ? builder.eos_id() : std::nullopt));
  post.Summarize();
}

void ApplyChatTemplates(const Json& config, TokenizerBuilder& builder) {
  const Json* value = config.Find("chat_template");
  if (value == nullptr) return;
  if (value->is_string()) builder.AddChatTemplate("default", value->string());
  if (!value->is_array()) return;
  for (const Json& entry : value->array()) {
    builder.AddChatTemplate(*TextIn(entry, "name"), *TextIn(entry, "template"));
  }
}

std::optional<TokenId> IdIn(const Json* value) {
  if (value == nullptr || !value->is_int()) return std::nullopt;
  if (value->integer() < 0 || value->integer() > kMaxTokenId) return std::nullopt;
  return static_cast<TokenId>(value->integer());
}

void ApplyGenerationConfig(const Json& config, TokenizerBuilder& builder) {
  const Json* eos = config.Find("eos_token_id");
  if (const auto id = IdIn(eos)) builder.AddEosId(*id);
  if (eos != nullptr && eos->is_array()) {
    for (const Json& value : eos->array()) {
      if (const auto id = IdIn(&value)) builder.AddEosId(*id);
    }
  }
  if (!builder.bos_id()) builder.SetBos(IdIn(config.Find("bos_token_id")));
  if (!builder.pad_id()) builder.SetPad(IdIn(config.Find("pad_token_id")));
}

}  // namespace

Status ApplyHfConfigs(const HfTokenizerFiles& files, TokenizerBuilder& builder) {
  QUIRE_ASSIGN_OR_RETURN(const Json config,
                         ParseConfig(files.tokenizer_config_json, "tokenizer_config.json"));
  QUIRE_ASSIGN_OR_RETURN(const Json special,
                         ParseConfig(files.special_tokens_map_json, "special_tokens_map.json"));
  QUIRE_ASSIGN_OR_RETURN(const Json generation,
                         ParseConfig(files.generation_config_json, "generation_config.json"));
  QUIRE_RETURN_IF_ERROR(CheckMembers(config, "tokenizer_config.json"));
  QUIRE_RETURN_IF_ERROR(CheckMembers(special, "special_tokens_map.json"));
  QUIRE_RETURN_IF_ERROR(ApplyAddedTokens(config, builder));
  ApplySpecialTokens(special, builder);
  ApplySpecialTokens(config, builder);
  ApplyBosEosFlags(config, builder);
  ApplyGenerationConfig(generation, builder);
  ApplyChatTemplates(config, builder);
  for (const NamedTemplate& more : files.more_templates) {
    builder.AddChatTemplate(more.name, more.source);
  }
  if (!files.chat_template_jinja.empty()) {
    builder.AddChatTemplate("default", std::string(files.chat_template_jinja));
  }
  return {};
}

}  // namespace quire
