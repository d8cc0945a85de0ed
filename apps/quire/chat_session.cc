#include "apps/quire/chat_session.h"

#include <cstddef>
#include <span>
#include <utility>

#include "apps/quire/io.h"
#include "base/strings.h"
#include "config/options.h"
#include "platform/mapped_file.h"

namespace quire {

namespace {

Json Message(const char* role, const std::string& content) {
  return Json(JsonObject{{"role", role}, {"content", content}});
}

bool HasRole(const Json& message, std::string_view role) {
  const Json* found = message.Find("role");
  return found != nullptr && found->is_string() && found->string() == role;
}

Status CheckMessage(const Json& message) {
  if (!message.is_object()) {
    return InvalidArgument(StrCat("must be an object, got ", message.kind()));
  }
  return RequireString(message, "role").status();
}

}  // namespace

Result<AnswerReport> ChatSession::Ask(const std::string& text, const StreamSink& sink) {
  JsonArray messages = messages_;
  messages.push_back(Message("user", text));
  return Answer(std::move(messages), sink);
}

Result<AnswerReport> ChatSession::Regenerate(const StreamSink& sink) {
  JsonArray messages = messages_;
  if (!messages.empty() && HasRole(messages.back(), "assistant")) messages.pop_back();
  if (messages.empty() || !HasRole(messages.back(), "user")) {
    return InvalidArgument("there is no question yet to answer again");
  }
  return Answer(std::move(messages), sink);
}

Result<AnswerReport> ChatSession::Answer(JsonArray messages, const StreamSink& sink) {
  QUIRE_ASSIGN_OR_RETURN(const ChatAnswer answer, model_.Answer(messages, sampling_, sink));
  messages.push_back(Message("assistant", answer.text));
  messages_ = std::move(messages);
  return answer.report;
}

void ChatSession::SetSystem(const std::string& text) {
  if (system()) messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), Message("system", text));
}

std::optional<std::string> ChatSession::system() const {
  if (messages_.empty() || !HasRole(messages_.front(), "system")) return std::nullopt;
  const Json* content = messages_.front().Find("content");
  if (content == nullptr) return "";
  return content->is_string() ? content->string() : content->Dump();
}

void ChatSession::Clear() {
  const std::optional<std::string> kept = system();
  messages_.clear();
  if (kept) SetSystem(*kept);
}

Status ChatSession::Save(const std::string& path) const {
  const std::string text = Json(JsonObject{{"messages", messages_}}).Dump(2) + "\n";
  return WriteFile(path, std::as_bytes(std::span(text)));
}

Status ChatSession::Load(const std::string& path) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  const Result<Json> parsed = ParseJson(text);
  if (!parsed.ok()) return parsed.status().With(path);
  const Json* list = parsed->is_array() ? &*parsed : parsed->Find("messages");
  if (list == nullptr || !list->is_array()) {
    return InvalidArgument(StrCat(path, ": has no array of messages"));
  }
  for (std::size_t i = 0; i < list->array().size(); ++i) {
    if (const Status status = CheckMessage(list->array()[i]); !status.ok()) {
      return status.With(StrCat(path, ": messages[", i, "]"));
    }
  }
  messages_ = list->array();
  return {};
}

Status ChatSession::SetSampling(ChatSampling sampling) {
  if (sampling.values.n != 1) {
    return InvalidArgument(StrCat("n: must be 1 in a chat, got ", sampling.values.n));
  }
  if (!sampling.values.detokenize) return InvalidArgument("detokenize: must be true in a chat");
  QUIRE_RETURN_IF_ERROR(model_.Check(sampling.values));
  sampling_ = std::move(sampling);
  return {};
}

Status ChatSession::SetParam(const std::string& name, std::string_view text) {
  ChatSampling changed = sampling_;
  QUIRE_RETURN_IF_ERROR(SetSamplingFlag(changed.values, name, text));
  changed.given.insert(name);
  return SetSampling(std::move(changed));
}

}  // namespace quire
