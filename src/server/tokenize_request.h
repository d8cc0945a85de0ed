// The bodies of POST /tokenize and /detokenize.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "server/chat_request.h"
#include "server/request_fields.h"

namespace quire {

// Either a prompt or messages.
struct TokenizeRequest {
  std::optional<std::string> model;
  std::optional<std::string> prompt;
  JsonFieldOf<MessagesSchema> messages;
  JsonFieldOf<ToolsSchema> tools;
  std::optional<bool> return_token_strs;
  std::optional<bool> add_special_tokens;  // true for a prompt, false for messages
  ChatTemplateFields chat;
};

template <typename Visitor>
void VisitFields(TokenizeRequest& r, Visitor&& visit) {
  visit("model", r.model, "A name under which the model is served");
  visit("prompt", r.prompt, "A text; excludes messages");
  visit("messages", r.messages, "A chat; excludes prompt");
  visit("tools", r.tools, "Functions that the model may call");
  visit("return_token_strs", r.return_token_strs, "The tokens as the vocabulary spells them too");
  visit("add_special_tokens", r.add_special_tokens,
        "Put the tokenizer's BOS before the text; true for a prompt, false for messages");
  VisitFields(r.chat, [&](std::string_view name, auto& field, std::string_view help) {
    if (name != "add_special_tokens") visit(name, field, help);
  });
  visit("mm_processor_kwargs", RefusedField(), "Not served");
  visit("media_io_kwargs", RefusedField(), "Not served");
}

struct DetokenizeRequest {
  std::optional<std::string> model;
  std::optional<std::vector<TokenId>> tokens;
};

template <typename Visitor>
void VisitFields(DetokenizeRequest& r, Visitor&& visit) {
  visit("model", r.model, "A name under which the model is served");
  visit("tokens", r.tokens, "Token ids");
}

}  // namespace quire
