// A request as the engine keeps it, and what comes out of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "request/sampling_params.h"

namespace quire {

class CompiledGrammar;  // structured/backend.h

enum class RequestStatus {
  kWaiting,
  kWaitingForGrammar,
  kWaitingForRemoteKv,
  kRunning,
  kPreempted,
  kFinished,
};

// Where a request with a constraint or a budget of its reasoning stands in that.
enum class ReasoningStage {
  kOver,      // or it has none
  kMayBegin,  // with its marker, as the first that is generated
  kInside,
};

enum class FinishReason { kStop, kLength, kAbort, kError, kRepetition };
const char* ToString(FinishReason reason);

// What ended a request with FinishReason::kStop, where it was not the end-of-sequence token; with
// kRepetition the word for it.
using StopReason = std::variant<std::monostate, TokenId, std::string>;

// How many tokens more the reasoning of a request may have, and what ends it then.
struct ThinkingLimit {
  int max_tokens = 0;
  ReasoningMarkers markers;  // both, neither empty
  // White space before the marker, or text in its token, makes it none.
  bool begins_exactly = false;
  std::vector<TokenId> end_ids;                 // whose texts, one after the other, are markers.end
  std::function<std::string(TokenId)> text_of;  // what a token adds to a text, special ones too
};

// One candidate for a position and its log-probability.
struct TokenLogprob {
  TokenId token = -1;
  float logprob = 0.0F;
  int rank = 0;  // 1: the best of the vocabulary
};

// A position's logprobs: the token itself first, then the best ones in falling order (the token
// among them again where it belongs), then the ones asked for by id.
struct PositionLogprobs {
  std::vector<TokenLogprob> entries;
};

// What the engine is given. `prompt` is not empty and shorter than the model's context.
struct EngineRequest {
  RequestId id;
  std::vector<TokenId> prompt;
  SamplingParams sampling;  // normalized and valid
  // Made from sampling.structured_outputs; null: any text.
  std::shared_ptr<const CompiledGrammar> grammar;
  ReasoningStage reasoning = ReasoningStage::kOver;  // after the prompt
  std::shared_ptr<const ThinkingLimit> thinking;     // null: no bound
  std::vector<TokenId> eos_token_ids;                // of the model and its generation config
  int max_tokens = 0;                                // resolved: how many may be generated
  std::uint64_t seed = 0;                            // resolved
  int priority = 0;                                  // lower goes first, policy `priority` only
  std::string cache_salt;                            // part of the first block's hash
  // Requests of one family (answers to one prompt, beams of one search) share KV blocks also where
  // the prefix cache is off; named after one of them. Invalid: none.
  RequestId family;
  std::chrono::steady_clock::time_point arrival{};
  std::string warning;  // for RequestOutput
};

// What one step brought to one request.
struct EngineCoreOutput {
  RequestId id;
  std::vector<TokenId> new_tokens;
  std::vector<PositionLogprobs> new_logprobs;         // one a token, where asked for
  std::vector<PositionLogprobs> new_prompt_logprobs;  // complete, with the first token; else empty
  std::optional<FinishReason> finish_reason;
  StopReason stop_reason;
  Status error;               // with FinishReason::kError
  int num_cached_tokens = 0;  // of the prompt, taken from the prefix cache
};

// One of a request's n answers, so far or since the last output.
struct CompletionOutput {
  int index = 0;
  std::string text;
  std::vector<TokenId> token_ids;
  std::vector<PositionLogprobs> logprobs;
  double cumulative_logprob = 0.0;
  std::optional<FinishReason> finish_reason;
  StopReason stop_reason;
};

// When a request came to each stage of its life. Unset: not yet, or never.
struct RequestTimes {
  using Time = std::optional<std::chrono::steady_clock::time_point>;
  Time arrival;      // given to the engine
  Time queued;       // taken in by the scheduler
  Time scheduled;    // first part of a step
  Time first_token;  // of any of its answers
  Time last_token;
  int num_preemptions = 0;
};

// What a caller sees of a request.
struct RequestOutput {
  std::string request_id;
  std::vector<TokenId> prompt_token_ids;
  std::vector<PositionLogprobs> prompt_logprobs;  // the first token's is empty
  std::vector<CompletionOutput> outputs;
  bool is_finished = false;
  Status error;
  std::string warning;  // what the caller should know though the request goes on; mostly empty
  int num_cached_tokens = 0;
  RequestTimes times;
};

}  // namespace quire
