// How chat answers are written for OpenAI's clients: whole, or in chunks.
#pragma once

#include <memory>
#include <string>

#include "server/chat_job.h"
#include "server/common_request.h"

namespace quire {

struct ChatAnswerShape {
  Delivery delivery;
  std::string role;
  std::string echoed;  // the answer begins with it
  bool has_logprobs = false;
  std::size_t num_choices = 1;
};

std::unique_ptr<PromptListener> MakeChatListener(ApiCall call, ChatJob job, ChatAnswerShape shape);

}  // namespace quire
