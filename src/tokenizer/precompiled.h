// SentencePiece's compiled character map: a double array of byte strings and what replaces them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/normalizers.h"

namespace quire {

// Immutable; any thread. Built from untrusted bytes: every look-up stays inside them.
class CharsMap {
 public:
  // kInvalidArgument for a blob whose sizes do not fit.
  static Result<CharsMap> Parse(std::string_view blob);

  struct Match {
    std::size_t length;      // of the text that is replaced
    std::string_view value;  // by this
  };
  // What replaces the longest, or the shortest, known beginning of `text`; nullopt: none is known.
  std::optional<Match> FindLongest(std::string_view text) const { return Find(text, true); }
  std::optional<Match> FindShortest(std::string_view text) const { return Find(text, false); }

  bool empty() const { return units_.empty(); }

 private:
  std::optional<Match> Find(std::string_view text, bool longest) const;

  std::vector<std::uint32_t> units_;
  std::string values_;  // each ended by a NUL
};

// tokenizer.json's Precompiled: whole grapheme clusters first, then code points.
std::unique_ptr<const Normalizer> MakePrecompiled(CharsMap map);
Result<std::unique_ptr<const Normalizer>> MakePrecompiledFromBase64(std::string_view text);

// Base64 with or without padding; nullopt for any other character.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace quire
