// Regular expressions: from text to a tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "structured/char_set.h"

namespace quire::structured {

inline constexpr int kUnbounded = -1;

struct RegexNode {
  enum class Kind {
    kEmpty,  // the empty text
    kChars,  // one code point of `chars`
    kSequence,
    kChoice,
    kRepeat,  // the only part, at least `min` and at most `max` times (kUnbounded)
    kStart,   // ^
    kEnd,     // $
  };
  Kind kind = Kind::kEmpty;
  CharSet chars;
  std::vector<std::int32_t> parts;
  int min = 0;
  int max = 0;
};

// A tree in one list.
struct Regex {
  std::vector<RegexNode> nodes;
  std::int32_t root = 0;
};

struct RegexOptions {
  // How \d, \w, \s and their complements are read where engines differ outside ASCII. Narrow: what
  // all of them accept; wide: what any of them accepts (for a pattern that must not match).
  bool is_wide = false;
};

// Reads what Python's `re` and ECMAScript have in common, without what no automaton can do.
//
//   kInvalidArgument  it is no regular expression; the message has the byte
//   kUnimplemented    look-around, back-references, word boundaries, atomic groups, most flags
//   kResourceExhausted  longer, deeper or with larger repetitions than is allowed
Result<Regex> ParseRegex(std::string_view text, const RegexOptions& options = {});

// The text alone, nothing in it special.
Regex LiteralRegex(std::string_view text);

}  // namespace quire::structured
