// The prompts of one run of `quire generate`, from the command line or from a file of JSON lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/llm.h"
#include "formats/json.h"

namespace quire {

// A prompt as its line gives it; sampling is put over the defaults once the model is known.
struct Prompt {
  std::string place;  // "line 3"; empty for the command line's
  std::string text;
  std::optional<std::vector<TokenId>> ids;
  bool add_special_tokens = true;
  int priority = 0;
  std::string cache_salt;
  JsonObject sampling;  // members that are sampling parameters

  // What the engine is given; `defaults` are the model's with the flags over them.
  Result<PromptInput> ToInput(const SamplingParams& defaults) const;
};

// Reads lines {"prompt": TEXT} or {"ids": [...]} with sampling parameters, "add_special_tokens",
// "priority" and "cache_salt" beside them, at most `max_prompts`; blank lines are passed over. The
// error names the line. `path` may be "-".
Result<std::vector<Prompt>> ReadPrompts(const std::string& path,
                                        std::optional<std::int64_t> max_prompts,
                                        bool add_special_tokens);

}  // namespace quire
