#include "apps/quire/tokenizer_source.h"

#include <filesystem>
#include <vector>

#include "apps/quire/engine_flags.h"
#include "apps/quire/io.h"
#include "base/strings.h"
#include "engine/load_tokenizer.h"

namespace quire {

namespace {

constexpr std::size_t kMaxTemplateBytes = std::size_t{4} << 20;

// Text that is meant as a template rather than as a file's name.
bool LooksLikeTemplate(const std::string& text) {
  return text.find("{{") != std::string::npos || text.find("{%") != std::string::npos;
}

std::string TemplateNames(const Tokenizer& tokenizer) {
  std::vector<std::string> names;
  for (const NamedTemplate& entry : tokenizer.chat_templates()) names.push_back(entry.name);
  return Join(names, ", ");
}

Result<ChatTemplate> ParseModels(const std::string& source) {
  Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return parsed.status().With("the model's chat template");
  return parsed;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> TokenizerOf(const std::string& model) {
  std::error_code ignored;
  if (!model.empty() && std::filesystem::exists(model, ignored)) return LoadTokenizer(model);
  QUIRE_ASSIGN_OR_RETURN(const std::string path, FindModel(model));
  return LoadTokenizer(path);
}

Result<ChatTemplate> ChooseChatTemplate(const std::string& wish, const Tokenizer& tokenizer) {
  if (wish.empty()) {
    const std::string* source = tokenizer.FindChatTemplate();
    if (source != nullptr) return ParseModels(*source);
    if (tokenizer.chat_templates().empty()) {
      return InvalidArgument(
          "the model has no chat template; give one with --chat-template FILE, or use quire "
          "generate, which needs none");
    }
    return InvalidArgument(StrCat("the model has several chat templates; choose one of ",
                                  TemplateNames(tokenizer), " with --chat-template"));
  }
  if (const std::string* named = tokenizer.FindChatTemplate(wish)) {
    return ParseModels(*named);
  }
  if (LooksLikeTemplate(wish)) {
    Result<ChatTemplate> parsed = ChatTemplate::Parse(wish);
    if (!parsed.ok()) return parsed.status().With("--chat-template");
    return parsed;
  }
  Result<std::string> source = ReadInput(wish, kMaxTemplateBytes);
  if (!source.ok()) return source.status().With("--chat-template");
  Result<ChatTemplate> parsed = ChatTemplate::Parse(*source);
  if (!parsed.ok()) return parsed.status().With(wish);
  return parsed;
}

}  // namespace quire
