// What answers in a chat: the program's own engine, or a server.
#pragma once

#include <set>
#include <string>

#include "apps/quire/streamed_text.h"
#include "base/status.h"
#include "formats/json.h"
#include "request/sampling_params.h"

namespace quire {

// How tokens are chosen, and which of it a person has said. A server is sent what was said only:
// the rest is for its own defaults.
struct ChatSampling {
  SamplingParams values;
  std::set<std::string> given;  // names of parameters
};

// How one answer went.
struct AnswerReport {
  std::string speed_line;        // may be empty
  bool was_interrupted = false;  // by Ctrl-C; what came until then stays in the conversation
  bool filled_context = false;   // it ended because the context is full
};

struct ChatAnswer {
  std::string text;
  AnswerReport report;
};

// One thread.
class ChatModel {
 public:
  virtual ~ChatModel() = default;

  // The answer to the conversation; its text also goes to `sink` as it comes. kInvalidArgument for
  // what the model cannot take.
  virtual Result<ChatAnswer> Answer(const JsonArray& messages, const ChatSampling& sampling,
                                    const StreamSink& sink) = 0;

  // kInvalidArgument where no request could have these parameters.
  virtual Status Check(const SamplingParams& sampling) const = 0;
};

}  // namespace quire
