// The prompts of a completion request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "formats/json.h"

namespace quire {

struct CompletionPrompt {
  std::string text;
  std::optional<std::vector<TokenId>> ids;  // instead of the text
};

// A text, texts, ids, or lists of ids; at least one prompt, and at most kMaxPrompts. Used up.
inline constexpr std::size_t kMaxPrompts = 4096;
Result<std::vector<CompletionPrompt>> ReadPrompts(Json& prompt);

}  // namespace quire
