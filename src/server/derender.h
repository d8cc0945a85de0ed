// Answers in token ids on their way back to text: what the derender routes share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "formats/json.h"
#include "request/request.h"
#include "request/sampling_params.h"
#include "server/api_state.h"

namespace quire {

// An answer of POST /inference/v1/generate, read.
struct Generated {
  std::string request_id;  // empty: it names none
  bool has_logprobs = false;
  RequestOutput output;  // with texts, as the engine had given it to a request with `sampling`
};

// `value` is used up; refusals name what stands under `path`. `prompt` are the prompt's ids where
// they are known; the engine of `call` has a tokenizer.
Result<Generated> ReadGenerated(const ApiCall& call, Json& value, std::string_view path,
                                const SamplingParams& sampling, std::vector<TokenId> prompt);

// Refuses where the engine has no tokenizer, and ids of a prompt that are none.
Status CheckDerender(const ApiCall& call, const std::vector<TokenId>& prompt);

// kInvalidArgument unless a prompt of the model may have so many tokens.
Status CheckPromptTokens(const ApiCall& call, std::int64_t count);

}  // namespace quire
