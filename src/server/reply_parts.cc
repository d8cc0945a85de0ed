#include "server/reply_parts.h"

#include "base/strings.h"
#include "server/json_text.h"

namespace quire {

ReplyHead MakeReplyHead(const ApiCall& call, std::string_view prefix,
                        const std::optional<std::string>& request_id) {
  ReplyHead head{.id = {},
                 .model = call.state.options.served_model_names.front(),
                 .created = UnixSeconds(),
                 .id_lease = {}};
  LiveIds& ids = call.state.reply_ids;
  head.id = ids.Take(StrCat(prefix, IdOf(*call.request, request_id)));
  head.id_lease = std::shared_ptr<const void>(
      nullptr, [&ids, id = head.id](const void* /*none*/) { ids.Give(id); });
  return head;
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

namespace {

void AppendCounts(std::string& out, const Usage& usage) {
  out += R"("usage":{"prompt_tokens":)";
  AppendInt(out, usage.prompt_tokens);
  out += R"(,"total_tokens":)";
  AppendInt(out, usage.prompt_tokens + usage.completion_tokens);
  out += R"(,"completion_tokens":)";
  AppendInt(out, usage.completion_tokens);
}

void AppendPromptDetails(std::string& out, const Usage& usage) {
  out += R"(,"prompt_tokens_details":{"cached_tokens":)";
  AppendInt(out, usage.cached_tokens);
  out += '}';
}

void AppendCompletionDetails(std::string& out, const Usage& usage) {
  out += R"(,"completion_tokens_details":{"reasoning_tokens":)";
  AppendInt(out, *usage.reasoning_tokens);
  out += '}';
}

}  // namespace

void AppendUsage(std::string& out, const Usage& usage, bool has_details) {
  AppendCounts(out, usage);
  if (has_details) AppendPromptDetails(out, usage);
  if (usage.reasoning_tokens) AppendCompletionDetails(out, usage);
  out += '}';
}

void AppendWholeUsage(std::string& out, const Usage& usage, bool has_details) {
  AppendCounts(out, usage);
  if (has_details) {
    AppendPromptDetails(out, usage);
  } else {
    out += R"(,"prompt_tokens_details":null)";
  }
  if (usage.reasoning_tokens) {
    AppendCompletionDetails(out, usage);
  } else {
    out += R"(,"completion_tokens_details":null)";
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
