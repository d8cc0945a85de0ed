#include "server/completion_prompts.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

constexpr std::string_view kWanted =
    "prompt: must be a text, a list of texts, token ids or a list of lists of token ids";

Status WrongKind(const Json& got) { return InvalidArgument(StrCat(kWanted, ", got ", got.kind())); }

Result<std::vector<TokenId>> ReadIds(const JsonArray& items) {
  std::vector<TokenId> ids;
  ids.reserve(items.size());
  for (const Json& item : items) {
    if (!item.is_int()) return WrongKind(item);
    if (!std::in_range<TokenId>(item.integer()) || item.integer() < 0) {
      return InvalidArgument(
          StrCat("prompt: token id ", item.integer(), " is outside the vocabulary"));
    }
    ids.push_back(static_cast<TokenId>(item.integer()));
  }
  if (ids.empty()) return InvalidArgument("prompt: must hold at least one token");
  return ids;
}

Result<CompletionPrompt> ReadOne(Json& item) {
  CompletionPrompt prompt;
  if (item.is_string()) {
    prompt.text = item.string();
    return prompt;
  }
  if (!item.is_array()) return WrongKind(item);
  QUIRE_ASSIGN_OR_RETURN(prompt.ids, ReadIds(item.array()));
  return prompt;
}

}  // namespace

Result<std::vector<CompletionPrompt>> ReadPrompts(Json& prompt) {
  std::vector<CompletionPrompt> prompts;
  const bool is_list = prompt.is_array() && !prompt.array().empty() && !prompt.array()[0].is_int();
  if (!is_list) {
    QUIRE_ASSIGN_OR_RETURN(CompletionPrompt only, ReadOne(prompt));
    prompts.push_back(std::move(only));
    return prompts;
  }
  if (prompt.array().size() > kMaxPrompts) {
    return InvalidArgument(
        StrCat("prompt: must be at most ", kMaxPrompts, " prompts, got ", prompt.array().size()));
  }
  const bool are_texts = prompt.array()[0].is_string();
  for (Json& item : prompt.array()) {
    if (item.is_string() != are_texts) return WrongKind(item);
    QUIRE_ASSIGN_OR_RETURN(CompletionPrompt one, ReadOne(item));
    prompts.push_back(std::move(one));
  }
  return prompts;
}

}  // namespace quire
