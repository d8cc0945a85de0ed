// What is counted of one answer of a prompt.
#pragma once

#include "request/request.h"

namespace quire {

struct AnswerStats {
  RequestTimes times;
  RequestTimes::Time previous_token;  // before times.last_token
  int num_prompt_tokens = 0;
  int num_cached_tokens = 0;  // of the prompt
  int num_generated_tokens = 0;
  int max_tokens = 0;
  int priority = 0;
};

}  // namespace quire
