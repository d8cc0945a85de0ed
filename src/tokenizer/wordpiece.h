// WordPiece (longest match first) and WordLevel (whole words).
#pragma once

#include <string>

#include "tokenizer/token_model.h"
#include "tokenizer/vocabulary.h"

namespace quire {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  int max_input_chars_per_word = 100;  // longer words are unknown
};

class WordPieceModel final : public TokenModel {
 public:
  // The vocabulary must outlive the model.
  WordPieceModel(const Vocabulary& vocabulary, WordPieceOptions options);
  Status Encode(std::string_view piece, ModelScratch& scratch,
                std::vector<TokenId>& out) const override;

 private:
  // The longest piece that the word begins with after the first `start` bytes; its length is added
  // to `end`.
  TokenId LongestPiece(std::string_view word, std::size_t start, std::string& text,
                       std::size_t& end) const;

  const Vocabulary& vocabulary_;
  WordPieceOptions options_;
  TokenId unk_id_;
};

class WordLevelModel final : public TokenModel {
 public:
  WordLevelModel(const Vocabulary& vocabulary, std::string unk_token);
  Status Encode(std::string_view piece, ModelScratch& scratch,
                std::vector<TokenId>& out) const override;

 private:
  const Vocabulary& vocabulary_;
  std::string unk_token_;
  TokenId unk_id_;
};

}  // namespace quire
