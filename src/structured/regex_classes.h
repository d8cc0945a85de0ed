// The classes of code points that regular expressions name.
#pragma once

#include <optional>
#include <string_view>

#include "structured/char_set.h"

namespace quire::structured {

// Narrow sets hold ASCII alone, as in ECMAScript; wide ones hold Unicode's, as in Python.
const CharSet& Digits(bool is_wide);
const CharSet& WordChars(bool is_wide);
const CharSet& Spaces(bool is_wide);

// U+000A, U+000D, U+2028 and U+2029.
const CharSet& LineEnds();

// With the other case of each ASCII letter.
CharSet WithBothCases(const CharSet& chars);

// Code points of a general category by its short name ("L", "Lu", "N"); empty for an unknown name.
CharSet CategoryChars(std::string_view name);

// The control character that a letter behind a backslash stands for, in patterns as in grammars.
std::optional<char32_t> ControlOf(char32_t letter);

}  // namespace quire::structured
