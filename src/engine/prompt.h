// What a caller gives the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "request/sampling_params.h"

namespace quire {

// One prompt: text, or ids that are taken as they are.
struct PromptInput {
  std::string text;
  std::optional<std::vector<TokenId>> token_ids;
  bool add_special_tokens = true;
  SamplingParams sampling;
  int priority = 0;
  std::string cache_salt;
};

}  // namespace quire
