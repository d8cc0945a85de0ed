// A SentencePiece model: pieces, and how a text is prepared for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/precompiled.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

enum class PieceType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

// Texts are views of the file.
struct SentencePieceModel {
  enum class Algorithm : std::uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

  struct Entry {
    std::string_view text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };

  std::vector<Entry> pieces;
  Algorithm algorithm = Algorithm::kUnigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string_view unk_surface = " \xE2\x81\x87 ";
  std::string_view charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool has_denormalizer = false;
  std::optional<TokenId> unk_id, bos_id, eos_id, pad_id;
};

// Reads a serialized ModelProto; views of `bytes`. kDataLoss naming what does not fit.
Result<SentencePieceModel> ParseSentencePiece(std::string_view bytes);

// Fills the builder: vocabulary, normalizer, model, decoder; control tokens become special ones.
Status BuildSentencePiece(const SentencePieceModel& model, TokenizerBuilder& builder);

}  // namespace quire
