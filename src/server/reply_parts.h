// Pieces of JSON that several kinds of replies have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "request/request.h"
#include "server/api_state.h"

namespace quire {

// What stands at the head of every reply and chunk.
struct ReplyHead {
  std::string id;
  std::string model;
  std::int64_t created = 0;
  std::shared_ptr<const void> id_lease;  // no other request has the id while one of them lives
};
ReplyHead MakeReplyHead(const ApiCall& call, std::string_view prefix,
                        const std::optional<std::string>& request_id);

// {"id":…,"object":…,"created":…,"model":…  without an end.
void AppendHead(std::string& out, const ReplyHead& head, std::string_view object);

// Tokens of a request so far.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::optional<std::int64_t> reasoning_tokens;  // of the completion; none: no reasoning is told
};
// "usage":{…}; details only where they are known.
void AppendUsage(std::string& out, const Usage& usage, bool has_details);
// The same, with null for details that are not.
void AppendWholeUsage(std::string& out, const Usage& usage, bool has_details);

// "stop" or null.
void AppendFinishReason(std::string& out, std::optional<FinishReason> reason);
// What ended it: a string, a token's id, or null.
void AppendStopReason(std::string& out, const StopReason& reason);

}  // namespace quire
