// A conversation with a model: its messages, and the asking.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/quire/generation.h"
#include "base/status.h"
#include "engine/llm.h"
#include "formats/json.h"
#include "request/sampling_params.h"
#include "tokenizer/chat_template.h"

namespace quire {

// Hears the answer's text as it comes.
using TextSink = std::function<Status(std::string_view text)>;

// How one answer went.
struct AnswerReport {
  std::string speed_line;
  bool was_interrupted = false;  // by Ctrl-C; what came until then stays in the conversation
  bool filled_context = false;   // it ended because the context is full
};

struct ChatSettings {
  SamplingParams sampling;
  Json variables;         // an object: further variables of the template
  int max_logprobs = 20;  // as the engine was configured
};

// One thread. Every call that fails leaves the conversation as it was.
class ChatSession {
 public:
  // `llm` has a tokenizer.
  ChatSession(Llm& llm, ChatTemplate chat_template, ChatSettings settings);

  // Adds the user's message and the model's answer.
  Result<AnswerReport> Ask(const std::string& text, const TextSink& sink);
  // Takes the last answer back and asks for another.
  Result<AnswerReport> Regenerate(const TextSink& sink);

  // The system message, put in place of an earlier one; empty: none.
  void SetSystem(const std::string& text);
  std::optional<std::string> system() const;

  const JsonArray& messages() const { return messages_; }
  void Clear();  // all but the system message

  // {"messages": [...]}, indented. Load() also takes a bare array; its messages replace all.
  Status Save(const std::string& path) const;
  Status Load(const std::string& path);

  const SamplingParams& sampling() const { return settings_.sampling; }
  // kInvalidArgument where no request could have these parameters.
  Status SetSampling(SamplingParams sampling);

 private:
  Result<std::vector<TokenId>> PromptIds(const JsonArray& messages) const;
  Result<AnswerReport> Answer(JsonArray messages, const TextSink& sink);
  Result<Generation> Generate(std::vector<TokenId> ids, const TextSink& sink);

  Llm& llm_;
  ChatTemplate template_;
  ChatSettings settings_;
  std::vector<std::pair<std::string, Json>> variables_;
  JsonArray messages_;
  int num_requests_ = 0;
};

}  // namespace quire
