// Log-probabilities as clients know them: OpenAI's two layouts, and vLLM's of prompts.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/id.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// How tokens are named in replies.
class TokenNames {
 public:
  // `tokenizer` outlives this; null, or `as_ids`: "token_id:7".
  TokenNames(const Tokenizer* tokenizer, bool as_ids) : tokenizer_(tokenizer), as_ids_(as_ids) {}

  // The token's text; "bytes:\xe2\x80" for one that is part of a character.
  std::string NameOf(TokenId id) const;
  // What the token stands for; empty where there is no tokenizer.
  std::string BytesOf(TokenId id) const;

 private:
  const Tokenizer* tokenizer_;
  bool as_ids_;
};

// The layout of /v1/completions, one array each: how it stands so far.
class CompletionLogprobs {
 public:
  explicit CompletionLogprobs(TokenNames names) : names_(names) {}

  // Takes tokens in; an empty PositionLogprobs (the first of a prompt) gives nulls. `first_name`,
  // where given, replaces the name of the first token.
  void Add(std::span<const TokenId> tokens, std::span<const PositionLogprobs> logprobs,
           const std::string* first_name = nullptr);

  // {"text_offset", "token_logprobs", "tokens", "top_logprobs"} of what came since the last call.
  // Offsets count characters from the beginning.
  void AppendTo(std::string& out);
  bool is_empty() const { return tokens_.empty(); }

 private:
  TokenNames names_;
  std::size_t offset_ = 0;
  std::string offsets_, logprobs_, tokens_, top_;  // the arrays' insides
};

// The entries of `content` in the chat layout, with commas between them and none at the ends.
void AppendChatLogprobs(std::string& out, std::span<const TokenId> tokens,
                        std::span<const PositionLogprobs> logprobs, const TokenNames& names);

// vLLM's prompt_logprobs: [null, {"7": {"logprob", "rank", "decoded_token"}}, …].
void AppendPromptLogprobs(std::string& out, std::span<const PositionLogprobs> logprobs,
                          const TokenNames& names);

// [1,2,3]
void AppendIds(std::string& out, std::span<const TokenId> ids);

}  // namespace quire
