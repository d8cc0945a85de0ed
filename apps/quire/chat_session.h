// A conversation with a model: its messages, and the asking.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/quire/chat_model.h"
#include "apps/quire/streamed_text.h"
#include "base/status.h"
#include "formats/json.h"

namespace quire {

// One thread. Every call that fails leaves the conversation as it was.
class ChatSession {
 public:
  // `model` outlives the session.
  explicit ChatSession(ChatModel& model) : model_(model) {}

  // Adds the user's message and the model's answer.
  Result<AnswerReport> Ask(const std::string& text, const StreamSink& sink);
  // Takes the last answer back and asks for another.
  Result<AnswerReport> Regenerate(const StreamSink& sink);

  // The system message, put in place of an earlier one; empty: none.
  void SetSystem(const std::string& text);
  std::optional<std::string> system() const;

  const JsonArray& messages() const { return messages_; }
  void Clear();  // all but the system message

  // {"messages": [...]}, indented. Load() also takes a bare array; its messages replace all.
  Status Save(const std::string& path) const;
  Status Load(const std::string& path);

  const ChatSampling& sampling() const { return sampling_; }
  // kInvalidArgument where no request could have these parameters.
  Status SetSampling(ChatSampling sampling);
  // One parameter, as a user writes it.
  Status SetParam(const std::string& name, std::string_view text);

 private:
  Result<AnswerReport> Answer(JsonArray messages, const StreamSink& sink);

  ChatModel& model_;
  ChatSampling sampling_;
  JsonArray messages_;
};

}  // namespace quire
