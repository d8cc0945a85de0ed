// Prompts without an answer: what /tokenize and the render routes share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "server/api_state.h"
#include "server/chat_job.h"
#include "server/reply_parts.h"

namespace quire {

// Texts are tokenized up to this length, where nothing else bounds them.
inline constexpr std::size_t kMaxTokenizedBytes = std::size_t{4} << 20;

// Runs `work`, which renders or tokenizes `num_bytes`: at once, or where that is long on a thread
// for it, unless the client has gone by then. Its failure is the answer.
Status RunTokenizing(ApiCall call, std::size_t num_bytes, std::function<Status(ApiCall&)> work,
                     Refusal refusal);

// The ids of `text`; kInvalidArgument names `field` where it is too long.
Result<std::vector<TokenId>> Tokenize(const ApiCall& call, const std::string& text,
                                      bool add_special_tokens, std::string_view field);

// A prompt as the engine would get it, without an end: {"request_id":…,"model":…,"token_ids":…,
// "sampling_params":{…}
void AppendRendered(std::string& out, const ReplyHead& head, const std::vector<TokenId>& ids,
                    const SamplingParams& sampling);

// Answers with the prompt of a chat as token ids and text.
Status RenderChat(ApiCall call, ChatTask task, Refusal refusal);

}  // namespace quire
