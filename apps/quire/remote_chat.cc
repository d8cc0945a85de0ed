#include "apps/quire/remote_chat.h"

#include <limits>

#include "apps/quire/engine_flags.h"
#include "base/strings.h"

namespace quire {

Result<ChatAnswer> RemoteChat::Answer(const JsonArray& messages, const ChatSampling& sampling,
                                      const StreamSink& sink) {
  JsonObject body = SamplingFields(sampling.values, sampling.given);
  body.emplace_back("model", model_);
  body.emplace_back("messages", messages);
  if (template_kwargs_.is_object()) body.emplace_back("chat_template_kwargs", template_kwargs_);
  QUIRE_ASSIGN_OR_RETURN(StreamedAnswer answer, client_.Chat(Json(std::move(body)), sink));
  if (!answer.tool_calls.empty()) {
    QUIRE_RETURN_IF_ERROR(sink(StreamedText::kAnswer, answer.tool_calls));
  }
  AnswerReport report;
  report.speed_line = std::move(answer.speed_line);
  report.was_interrupted = answer.was_stopped;
  return ChatAnswer{.text = std::move(answer.text), .report = std::move(report)};
}

// What depends on the model is the server's to refuse.
Status RemoteChat::Check(const SamplingParams& sampling) const {
  return sampling.Validate(std::numeric_limits<int>::max(), kAllLogprobs);
}

}  // namespace quire
