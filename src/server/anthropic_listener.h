// How answers are written for Anthropic's clients: whole, or in events.
#pragma once

#include <memory>

#include "server/chat_job.h"
#include "server/prompt_run.h"

namespace quire {

std::unique_ptr<PromptListener> MakeAnthropicListener(ApiCall call, ChatJob job);

}  // namespace quire
