// The program's own engine as what answers in a chat.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/quire/chat_model.h"
#include "apps/quire/generation.h"
#include "engine/llm.h"
#include "tokenizer/chat_template.h"

namespace quire {

class LocalChat : public ChatModel {
 public:
  struct Options {
    Json variables;         // an object: further variables of the template
    int max_logprobs = 20;  // as the engine was configured
  };

  // `llm` has a tokenizer and outlives this.
  LocalChat(Llm& llm, ChatTemplate chat_template, const Options& options);

  Result<ChatAnswer> Answer(const JsonArray& messages, const ChatSampling& sampling,
                            const StreamSink& sink) override;
  Status Check(const SamplingParams& sampling) const override;

 private:
  Result<std::vector<TokenId>> PromptIds(const JsonArray& messages) const;
  Result<Generation> Generate(std::vector<TokenId> ids, const SamplingParams& sampling,
                              const StreamSink& sink);

  Llm& llm_;
  ChatTemplate template_;
  int max_logprobs_;
  std::vector<std::pair<std::string, Json>> variables_;
  int num_requests_ = 0;
};

}  // namespace quire
