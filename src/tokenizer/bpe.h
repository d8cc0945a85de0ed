// Byte pair encoding, over characters or over bytes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/merger.h"
#include "tokenizer/token_model.h"
#include "tokenizer/vocabulary.h"

namespace quire {

// Merges known by their two ids: the list of a tokenizer.json or a GGUF file. A flat table.
class PairRules final : public MergeRules {
 public:
  explicit PairRules(std::size_t num_merges);  // about; it grows
  // A pair that stands there already takes the new rank and result.
  void Add(TokenId left, TokenId right, MergeRule rule);
  void Prefetch(TokenId left, TokenId right) const;  // for an Add soon after
  MergeRule Find(const Symbol& left, const Symbol& right, const char* word) const override;

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    MergeRule rule;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  std::size_t HomeOf(std::uint64_t key) const;
  std::size_t SlotOf(std::uint64_t key) const;
  void Grow();

  std::vector<Slot> slots_;
  std::size_t num_used_ = 0;
};

// A pair merges where its joined text is a piece: tiktoken's and SentencePiece's rule. The rank is
// given by id; MergeRule::kNone for pieces that no merge may make.
class PieceRules final : public MergeRules {
 public:
  PieceRules(const Vocabulary& vocabulary, std::vector<std::uint32_t> ranks)
      : vocabulary_(vocabulary), ranks_(std::move(ranks)) {}
  MergeRule Find(const Symbol& left, const Symbol& right, const char* word) const override;

 private:
  const Vocabulary& vocabulary_;
  std::vector<std::uint32_t> ranks_;
};

struct BpeOptions {
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  // a word that is a piece is that piece
  // Pieces come as raw bytes; the vocabulary spells them in stand-ins.
  bool is_byte_level = false;
};

class BpeModel final : public TokenModel {
 public:
  // The vocabulary must outlive the model.
  BpeModel(const Vocabulary& vocabulary, std::unique_ptr<const PairRules> rules,
           BpeOptions options);
  BpeModel(const Vocabulary& vocabulary, std::unique_ptr<const PieceRules> rules,
           BpeOptions options);

  Status Encode(std::string_view piece, ModelScratch& scratch,
                std::vector<TokenId>& out) const override;
  std::size_t MinIds(std::size_t num_bytes) const override;

 private:
  void FindBaseTokens();
  Status EncodeWord(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out) const;
  // The symbols of a word before any merge; for one over bytes `word` is in stand-ins.
  Status Split(std::string_view word, std::vector<Symbol>& symbols) const;
  void SplitBytes(std::string_view word, std::vector<Symbol>& symbols) const;
  std::string_view Spell(std::string_view character, bool is_first, bool is_last,
                         std::string& buffer) const;
  bool PushBytes(std::string_view text, std::uint32_t start, std::vector<Symbol>& symbols) const;

  const Vocabulary& vocabulary_;
  std::unique_ptr<const PairRules> pairs_;  // one of the two
  std::unique_ptr<const PieceRules> pieces_;
  BpeOptions options_;
  TokenId unk_id_ = kNoToken;
  std::array<TokenId, 256> byte_ids_;  // of single bytes, over bytes; else of "<0xNN>"
  bool has_all_bytes_ = false;
};

}  // namespace quire
