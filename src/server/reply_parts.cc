#include "server/reply_parts.h"

#include "base/strings.h"
#include "server/json_text.h"

namespace quire {

ReplyHead MakeReplyHead(const ApiCall& call, std::string_view prefix,
                        const std::optional<std::string>& request_id) {
  return {.id = StrCat(prefix, IdOf(*call.request, request_id)),
          .model = call.state.options.served_model_names.front(),
          .created = UnixSeconds()};
}

void AppendHead(std::string& out, const ReplyHead& head, std::string_view object) {
  out += R"({"id":)";
  AppendJsonString(out, head.id);
  out += R"(,"object":")";
  out += object;
  out += R"(","created":)";
  AppendInt(out, head.created);
  out += R"(,"model":)";
  AppendJsonString(out, head.model);
}

void AppendUsage(std::string& out, const Usage& usage, bool has_details) {
  out += R"("usage":{"prompt_tokens":)";
  AppendInt(out, usage.prompt_tokens);
  out += R"(,"total_tokens":)";
  AppendInt(out, usage.prompt_tokens + usage.completion_tokens);
  out += R"(,"completion_tokens":)";
  AppendInt(out, usage.completion_tokens);
  if (has_details) {
    out += R"(,"prompt_tokens_details":{"cached_tokens":)";
    AppendInt(out, usage.cached_tokens);
    out += '}';
  }
  out += '}';
}

void AppendFinishReason(std::string& out, std::optional<FinishReason> reason) {
  if (!reason) {
    out += "null";
    return;
  }
  out += '"';
  out += ToString(*reason);
  out += '"';
}

void AppendStopReason(std::string& out, const StopReason& reason) {
  if (const auto* token = std::get_if<TokenId>(&reason)) {
    AppendInt(out, *token);
  } else if (const auto* text = std::get_if<std::string>(&reason)) {
    AppendJsonString(out, *text);
  } else {
    out += "null";
  }
}

}  // namespace quire
