#include "tokenizer/tokenizer_builder.h"

#include <algorithm>

namespace quire {

TokenizerBuilder::TokenizerBuilder()
    : pipeline_(std::make_unique<Pipeline>()), tokenizer_(new Tokenizer()) {}

void TokenizerBuilder::SetId(std::optional<TokenId>& field, std::optional<TokenId> id) {
  if (id && pipeline_->HasToken(*id)) field = id;
}

void TokenizerBuilder::AddEosId(TokenId id) { more_eos_ids_.push_back(id); }

void TokenizerBuilder::AddChatTemplate(std::string name, std::string source) {
  for (NamedTemplate& known : tokenizer_->chat_templates_) {
    if (known.name == name) {
      known.source = std::move(source);
      return;
    }
  }
  tokenizer_->chat_templates_.push_back({std::move(name), std::move(source)});
}

void TokenizerBuilder::AddTemplateToken(std::string variable, std::string text) {
  for (auto& [known, value] : tokenizer_->template_tokens_) {
    if (known == variable) {
      value = std::move(text);
      return;
    }
  }
  tokenizer_->template_tokens_.emplace_back(std::move(variable), std::move(text));
}

Status TokenizerBuilder::AddToken(AddedToken token) {
  std::string normalized = token.content;
  if (token.is_normalized && pipeline_->normalizer != nullptr) {
    QUIRE_RETURN_IF_ERROR(pipeline_->normalizer->Apply(normalized));
  }
  pipeline_->added.Add(std::move(token), std::move(normalized));
  return {};
}

std::shared_ptr<const Tokenizer> TokenizerBuilder::Build() {
  pipeline_->added.Finish();
  const PostProcessor& post = pipeline_->post;
  const auto holds = [](const std::vector<TokenId>& ids, std::optional<TokenId> id) {
    return id && std::find(ids.begin(), ids.end(), *id) != ids.end();
  };
  tokenizer_->add_bos_ = holds(post.prefix, tokenizer_->bos_id_);
  tokenizer_->add_eos_ = holds(post.suffix, tokenizer_->eos_id_);
  std::vector<TokenId>& eos = tokenizer_->eos_ids_;
  if (tokenizer_->eos_id_) eos.push_back(*tokenizer_->eos_id_);
  for (const TokenId id : more_eos_ids_) {
    if (std::find(eos.begin(), eos.end(), id) == eos.end()) eos.push_back(id);
  }
  if (!tokenizer_->eos_id_ && !eos.empty()) SetId(tokenizer_->eos_id_, eos.front());
  if (pipeline_->pre_tokenizer != nullptr && tokenizer_->description_.pre_tokenizer.empty()) {
    tokenizer_->description_.pre_tokenizer = pipeline_->pre_tokenizer->name();
  }
  tokenizer_->caches_prefixes_ = pipeline_->CanCutAtTokens();
  tokenizer_->pipeline_ = std::move(pipeline_);
  return std::move(tokenizer_);
}

}  // namespace quire
