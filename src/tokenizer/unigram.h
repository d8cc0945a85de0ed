// Unigram: of all ways to cut a text into pieces, the one with the highest sum of scores.
#pragma once

#include <array>
#include <vector>

#include "tokenizer/piece_trie.h"
#include "tokenizer/token_model.h"
#include "tokenizer/vocabulary.h"

namespace quire {

struct UnigramOptions {
  TokenId unk_id = kNoToken;
  bool byte_fallback = false;
  bool sums_in_float = false;  // SentencePiece adds scores as floats, tokenizer.json as doubles
  bool looks_up_fused = true;  // a run of unknown characters may be a piece all the same
};

class UnigramModel final : public TokenModel {
 public:
  // `scores` by id; `ids`: the pieces that may stand in a text. The vocabulary must outlive the
  // model.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores,
               const std::vector<TokenId>& ids, UnigramOptions options);

  Status Encode(std::string_view piece, ModelScratch& scratch,
                std::vector<TokenId>& out) const override;

 private:
  template <typename Score>
  Status EncodeAs(std::string_view text, std::vector<TokenId>& out) const;
  Status AppendUnknown(std::string_view text, std::vector<TokenId>& out) const;

  const Vocabulary& vocabulary_;
  std::vector<double> scores_;
  double unk_score_;
  UnigramOptions options_;
  PieceTrie trie_;
  std::array<TokenId, 256> byte_ids_;
};

}  // namespace quire
