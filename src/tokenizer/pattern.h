// What a pre-tokenizer splits at: the places in a text where a pattern matches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace quire {

// A half-open range of bytes.
struct TextRange {
  std::size_t begin, end;
};

// Immutable; any thread.
class Pattern {
 public:
  virtual ~Pattern() = default;

  // Appends the matches in valid UTF-8 from left to right, none overlapping; they may be empty.
  // kResourceExhausted where a regular expression runs into its match limit.
  virtual Status FindAll(std::string_view text, std::vector<TextRange>& out) const = 0;

  // The name of a pattern that is known and written by hand; "" for any other.
  virtual std::string_view name() const { return ""; }
};

// Matches each single code point for which `is_match` is true.
std::unique_ptr<const Pattern> MakeCharPattern(bool (*is_match)(char32_t));

// Matches the text itself; an empty one matches before each code point and at the end.
std::unique_ptr<const Pattern> MakeLiteralPattern(std::string literal);

// A regular expression as Oniguruma (Ruby's syntax, Unicode) understands it. Patterns of well-known
// tokenizers are matched by code of their own, any other by PCRE2.
Result<std::unique_ptr<const Pattern>> MakeRegexPattern(std::string_view source);

// The same, always by PCRE2 (for comparing the two).
Result<std::unique_ptr<const Pattern>> MakePcrePattern(std::string_view source);

}  // namespace quire
