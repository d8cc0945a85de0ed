// How answers of /v1/responses are written: whole, in events, or into the store alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/json.h"
#include "server/chat_job.h"
#include "server/prompt_run.h"
#include "server/response_events.h"

namespace quire {

// What stands in a response object besides its output.
struct ResponseShape {
  std::string id;
  std::string echoed;  // the object's members that only repeat the request, with a comma in front
  bool is_background = false;
  bool is_stored = true;
  bool has_logprobs = false;
  Json messages;                           // the chat that is answered
  std::shared_ptr<ResponseEvents> events;  // where events go instead of to the client; may be null
};

// The object while nothing is generated yet. `status`: "queued", "in_progress", …
std::string ResponseBody(const ResponseShape& shape, const ReplyHead& head,
                         std::string_view status);

std::unique_ptr<PromptListener> MakeResponseListener(ApiCall call, ChatJob job,
                                                     ResponseShape shape);

}  // namespace quire
