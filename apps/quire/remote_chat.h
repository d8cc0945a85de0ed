// A server as what answers in a chat.
#pragma once

#include <string>
#include <utility>

#include "apps/quire/chat_model.h"
#include "apps/quire/openai_client.h"

namespace quire {

class RemoteChat : public ChatModel {
 public:
  // `template_kwargs`, an object or null, goes to the server's chat template.
  RemoteChat(OpenAiClient client, std::string model, Json template_kwargs)
      : client_(std::move(client)),
        model_(std::move(model)),
        template_kwargs_(std::move(template_kwargs)) {}

  Result<ChatAnswer> Answer(const JsonArray& messages, const ChatSampling& sampling,
                            const StreamSink& sink) override;
  Status Check(const SamplingParams& sampling) const override;

 private:
  OpenAiClient client_;
  std::string model_;
  Json template_kwargs_;
};

}  // namespace quire
