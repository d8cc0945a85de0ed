// What a caller gives the engine.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "request/request.h"
#include "request/sampling_params.h"

namespace quire {

// Hears the outputs of one prompt, on the output thread. What it does there delays the outputs of
// all prompts, so it hands on and returns; it may submit and abort prompts.
using OutputSink = std::function<void(RequestOutput output)>;

// One prompt: text, or ids that are taken as they are.
struct PromptInput {
  // Called first, by an input thread, with this input; may fill in the text or the ids (a chat
  // template's rendering, say). The prompt ends with its error. May be empty.
  std::function<Status(PromptInput& input)> prepare;
  std::size_t prepare_bytes = 0;  // about how much text `prepare` has to deal with
  std::string text;
  std::optional<std::vector<TokenId>> token_ids;
  bool add_special_tokens = true;
  SamplingParams sampling;
  // What stands around the model's reasoning, without which sampling.thinking_token_budget is
  // refused; and whether the prompt may end in the midst of it, as one that is no chat may and a
  // chat that continues the reasoning of its last message does.
  std::optional<ReasoningMarkers> reasoning;
  bool may_continue_reasoning = false;
  // Where the prompt leaves the reasoning; none: its end tells.
  std::optional<ReasoningStage> stage;
  int priority = 0;
  std::string cache_salt;
  // Tokens between two deltas of an answer; the larger one of this and the engine's own counts.
  int stream_interval = 1;
};

}  // namespace quire
