#include "structured/regex_classes.h"

#include <array>
#include <cstddef>

#include "tokenizer/unicode.h"

namespace quire::structured {
namespace {

template <typename Predicate>
CharSet CharsThat(Predicate&& holds) {
  CharSet chars;
  char32_t code = 0;
  while (code <= kLastCodePoint) {
    if (!holds(code)) {
      ++code;
      continue;
    }
    const char32_t first = code;
    while (code <= kLastCodePoint && holds(code)) ++code;
    chars |= CharSet(first, code - 1);
  }
  return chars;
}

CharSet NarrowWord() {
  return CharSet(U'a', U'z') | CharSet(U'A', U'Z') | CharSet(U'0', U'9') | CharSet(U'_');
}

}  // namespace

const CharSet& Digits(bool is_wide) {
  static const CharSet kNarrow(U'0', U'9');
  static const CharSet kWide = CharsThat([](char32_t code) { return unicode::IsNumber(code); });
  return is_wide ? kWide : kNarrow;
}

const CharSet& WordChars(bool is_wide) {
  static const CharSet kNarrow = NarrowWord();
  static const CharSet kWide = CharsThat([](char32_t code) {
    return unicode::IsWord(code) || unicode::IsNumber(code) || unicode::IsLetter(code);
  });
  return is_wide ? kWide : kNarrow;
}

const CharSet& Spaces(bool is_wide) {
  static const CharSet kNarrow = CharSet(U'\t', U'\r') | CharSet(U' ');
  static const CharSet kWide = CharsThat([](char32_t code) {
    return unicode::IsWhiteSpace(code) || code == 0xFEFF || (code >= 0x1C && code <= 0x1F);
  });
  return is_wide ? kWide : kNarrow;
}

const CharSet& LineEnds() {
  static const CharSet kEnds = CharSet(U'\n') | CharSet(U'\r') | CharSet(0x2028, 0x2029);
  return kEnds;
}

CharSet WithBothCases(const CharSet& chars) {
  constexpr char32_t kCaseBit = 0x20;
  CharSet both = chars;
  const CharSet lower = chars & CharSet(U'a', U'z');
  const CharSet upper = chars & CharSet(U'A', U'Z');
  for (const CharRange& range : lower.ranges()) {
    both |= CharSet(range.first - kCaseBit, range.last - kCaseBit);
  }
  for (const CharRange& range : upper.ranges()) {
    both |= CharSet(range.first + kCaseBit, range.last + kCaseBit);
  }
  return both;
}

CharSet CategoryChars(std::string_view name) {
  static constexpr std::array<std::string_view, 30> kNames = {
      "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
      "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
  unicode::CategorySet set = 0;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const bool is_meant = kNames[i] == name || (name.size() == 1 && kNames[i][0] == name[0]);
    if (is_meant) set |= unicode::SetOf(static_cast<unicode::Category>(i));
  }
  if (set == 0) return {};
  return CharsThat([set](char32_t code) { return unicode::IsIn(code, set); });
}

std::optional<char32_t> ControlOf(char32_t letter) {
  switch (letter) {
    case 'n':
      return U'\n';
    case 't':
      return U'\t';
    case 'r':
      return U'\r';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    case 'a':
      return U'\a';
    case '0':
      return U'\0';
    default:
      return std::nullopt;
  }
}

}  // namespace quire::structured
