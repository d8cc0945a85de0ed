// What a GGUF file says of its tokenizer, and the tokenizers made of that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

// Views of the file's bytes.
struct GgufVocabulary {
  // tokenizer.ggml.token_type
  static constexpr std::int64_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4,
                                kUnused = 5, kByte = 6;

  std::string_view model, pre, architecture;
  std::vector<std::string_view> tokens, merges;
  std::vector<std::int64_t> types;  // empty: all normal
  std::vector<float> scores;        // empty: all 0
  std::optional<TokenId> bos_id, eos_id, unk_id, pad_id, cls_id, sep_id;
  std::vector<TokenId> more_eos_ids;  // end of turn, end of message
  std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
  std::string_view charsmap;

  std::int64_t TypeOf(TokenId id) const { return types.empty() ? kNormal : types[id]; }
  float ScoreOf(TokenId id) const { return scores.empty() ? 0.0f : scores[id]; }
};

// Fills the builder. kUnimplemented for an unknown model or pre-tokenizer.
Status BuildGgufTokenizer(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);

// Its parts, by tokenizer.ggml.model: gpt2; llama; bert; t5; rwkv.
Status BuildGgufBpe(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);
Status BuildGgufSpm(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);
Status BuildGgufWordPiece(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);
Status BuildGgufUnigram(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);
Status BuildGgufRwkv(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);

// Adds the pieces to the vocabulary.
Status AddGgufPieces(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);
// Makes control and user-defined tokens added ones.
Status AddGgufSpecials(const GgufVocabulary& vocabulary, TokenizerBuilder& builder);
// BOS and EOS around a text, where the flags (or these defaults) say so.
void SetGgufBosEos(const GgufVocabulary& vocabulary, bool adds_bos, bool adds_eos,
                   TokenizerBuilder& builder);

// The splitting that tokenizer.ggml.pre names; `has_nfc`: the text is composed first.
struct GgufPreTokenizer {
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  bool has_nfc = false;
  bool ignores_merges = false;  // a word that is a piece is that piece
  bool adds_bos = false;        // unless the file says otherwise
};
Result<GgufPreTokenizer> MakeGgufPreTokenizer(std::string_view pre);

}  // namespace quire
