// Prompts, and what comes out of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quire/status.h"

namespace quire::api {

using TokenId = std::int32_t;

// Text, or token ids that are taken as they are.
struct Prompt {
  Prompt() = default;
  // NOLINTBEGIN(google-explicit-constructor): a text is a prompt
  Prompt(std::string prompt_text) : text(std::move(prompt_text)) {}
  Prompt(const char* prompt_text) : text(prompt_text) {}
  Prompt(std::vector<TokenId> ids) : token_ids(std::move(ids)) {}
  // NOLINTEND(google-explicit-constructor)

  std::string text;
  std::optional<std::vector<TokenId>> token_ids;
};

struct ChatMessage {
  std::string role;  // system, user, assistant
  std::string content;
};

enum class FinishReason { kNone, kStop, kLength, kAbort, kError, kRepetition };

struct TokenLogprob {
  TokenId token = -1;
  float logprob = 0.0F;
  int rank = 0;  // 1: the best of the vocabulary
};

// One of a prompt's n answers.
struct Completion {
  int index = 0;
  std::string text;
  std::vector<TokenId> token_ids;
  // One entry a token, where asked for: the token itself first, then the best ones.
  std::vector<std::vector<TokenLogprob>> logprobs;
  FinishReason finish_reason = FinishReason::kNone;
  std::string stop_reason;  // the stop string or the id of the stop token that ended it
};

struct Output {
  std::string request_id;
  std::vector<TokenId> prompt_token_ids;
  std::vector<std::vector<TokenLogprob>> prompt_logprobs;  // the first token's is empty
  std::vector<Completion> completions;
  bool is_finished = false;
  int num_cached_tokens = 0;  // of the prompt, found in the prefix cache
  Status status;              // not ok: this prompt was refused or failed
};

}  // namespace quire::api
