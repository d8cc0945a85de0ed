// How completions are written: whole, or in chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/common_request.h"
#include "server/field_names.h"
#include "server/logprob_text.h"
#include "server/prompt_run.h"
#include "server/reply_parts.h"

namespace quire {

// What the two ways of answering have in common.
struct CompletionJob {
  ReplyHead head;
  std::string fingerprint;
  Delivery delivery;
  bool has_details = false;
  bool echo = false;
  bool is_echo_only = false;  // max_tokens 0: the one token that the engine made is not shown
  bool has_logprobs = false;
  std::size_t num_choices = 1;         // of each prompt
  std::int64_t num_prompt_tokens = 0;  // of prompts whose ids are not known
  TokenNames names{nullptr, false};
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::string> prompt_texts;  // "": to be made of the ids
  FieldNames field_names;                 // of the client
};

std::unique_ptr<PromptListener> MakeCompletionListener(ApiCall call, CompletionJob job,
                                                       std::size_t num_prompts);

}  // namespace quire
