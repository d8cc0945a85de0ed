// Puts a Tokenizer together; what the loaders of all formats share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// Used once: fill the pipeline and the rest, then Build().
class TokenizerBuilder {
 public:
  TokenizerBuilder();

  Pipeline& pipeline() { return *pipeline_; }
  TokenizerDescription& description() { return tokenizer_->description_; }

  // Which ids play which part; ids without a token are passed over.
  void SetBos(std::optional<TokenId> id) { SetId(tokenizer_->bos_id_, id); }
  void SetEos(std::optional<TokenId> id) { SetId(tokenizer_->eos_id_, id); }
  void SetPad(std::optional<TokenId> id) { SetId(tokenizer_->pad_id_, id); }
  void SetUnk(std::optional<TokenId> id) { SetId(tokenizer_->unk_id_, id); }
  std::optional<TokenId> bos_id() const { return tokenizer_->bos_id_; }
  std::optional<TokenId> eos_id() const { return tokenizer_->eos_id_; }
  std::optional<TokenId> pad_id() const { return tokenizer_->pad_id_; }
  std::optional<TokenId> unk_id() const { return tokenizer_->unk_id_; }
  void AddEosId(TokenId id);

  void AddChatTemplate(std::string name, std::string source);  // a later one of a name counts
  void AddTemplateToken(std::string variable, std::string text);

  // Adds a token that is looked for in texts, its content normalized by the pipeline's normalizer.
  Status AddToken(AddedToken token);

  std::shared_ptr<const Tokenizer> Build();

 private:
  void SetId(std::optional<TokenId>& field, std::optional<TokenId> id);

  std::unique_ptr<Pipeline> pipeline_;
  std::shared_ptr<Tokenizer> tokenizer_;
  std::vector<TokenId> more_eos_ids_;
};

// The configs beside a tokenizer file: special tokens, flags, end-of-sequence ids, chat templates.
// Errors name the file.
Status ApplyHfConfigs(const HfTokenizerFiles& files, TokenizerBuilder& builder);

}  // namespace quire
