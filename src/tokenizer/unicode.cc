#include "tokenizer/unicode.h"

#include <algorithm>
#include <span>

#include "tokenizer/utf8.h"

namespace quire::unicode {

namespace {

// The entry of a sorted range table that holds `code`; null where there is none.
template <typename Range>
const Range* FindRange(std::span<const Range> table, char32_t code) {
  const auto after = std::upper_bound(table.begin(), table.end(), code,
                                      [](char32_t c, const Range& r) { return c < r.first; });
  if (after == table.begin()) return nullptr;
  const Range& range = *(after - 1);
  return code <= range.last ? &range : nullptr;
}

// The code points that `code` maps to in a table of runs; itself where it stands in none.
char32_t MapCase(std::span<const CaseRange> table, char32_t code) {
  const CaseRange* range = FindRange(table, code);
  if (range == nullptr || (code - range->first) % range->step != 0) return code;
  return code + range->distance;
}

const SpecialCase* FindSpecial(char32_t code) {
  const std::span<const SpecialCase> table(kSpecialCases, kSpecialCasesCount);
  const auto found = std::lower_bound(table.begin(), table.end(), code,
                                      [](const SpecialCase& s, char32_t c) { return s.code < c; });
  return found != table.end() && found->code == code ? &*found : nullptr;
}

void AppendAll(std::string& out, const char32_t (&codes)[3]) {
  for (const char32_t code : codes) {
    if (code != 0) AppendUtf8(out, code);
  }
}

std::uint32_t CasingOf(char32_t code) {
  const CodeRange* range = FindRange(std::span(kCasing, kCasingCount), code);
  return range == nullptr ? 0 : range->value;
}

}  // namespace

std::string_view ScriptOf(char32_t code) {
  const CodeRange* range = FindRange(std::span(kScripts, kScriptsCount), code);
  return range == nullptr ? std::string_view("Unknown") : kScriptNames[range->value];
}

AgeClass AgeOf(char32_t code) {
  const CodeRange* range = FindRange(std::span(kAges, kAgesCount), code);
  return range == nullptr ? AgeClass::kUnicode8 : static_cast<AgeClass>(range->value);
}

namespace {

bool IsIn8(char32_t code, CategorySet set) {
  return IsIn(code, set) && AgeOf(code) == AgeClass::kUnicode8;
}

}  // namespace

// The exceptions below are code points whose category changed later.
bool IsPunctuation8(char32_t code) {
  if (code < 128) return code > 32 && code < 127 && !IsIn(code, kLetter | kNumber);
  return IsIn8(code, kPunctuation) || code == 0x166D || code == 0x111C9;
}

bool IsNonspacing8(char32_t code) {
  if (code == 0x1885 || code == 0x1886 || code == 0xA9BD || code == 0x111C9) return false;
  return IsIn8(code, SetOf(Category::kMn)) || code == 0x1734;
}

bool IsControl8(char32_t code) {
  return IsIn8(code, SetOf(Category::kCc) | SetOf(Category::kCf) | SetOf(Category::kCo));
}

bool IsMark9(char32_t code) {
  if (code == 0x111C9) return false;
  if (code == 0x1CF2 || code == 0x1CF3) return true;
  return IsIn(code, kMark) && AgeOf(code) <= AgeClass::kUnicode9;
}

void AppendLower(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
  } else if (const SpecialCase* special = FindSpecial(code)) {
    AppendAll(out, special->lower);
  } else {
    AppendUtf8(out, MapCase(std::span(kLower, kLowerCount), code));
  }
}

void AppendUpper(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code >= 'a' && code <= 'z' ? code - 32 : code);
  } else if (const SpecialCase* special = FindSpecial(code)) {
    AppendAll(out, special->upper);
  } else {
    AppendUtf8(out, MapCase(std::span(kUpper, kUpperCount), code));
  }
}

void AppendTitle(std::string& out, char32_t code) {
  if (const SpecialCase* special = FindSpecial(code)) {
    AppendAll(out, special->title);
  } else if (const char32_t title = MapCase(std::span(kTitle, kTitleCount), code); title != code) {
    AppendUtf8(out, title);
  } else if (FindRange(std::span(kTitle, kTitleCount), code) != nullptr) {
    AppendUtf8(out, code);
  } else {
    AppendUpper(out, code);
  }
}

bool IsCased(char32_t code) { return CasingOf(code) & 1; }
bool IsCaseIgnorable(char32_t code) { return CasingOf(code) & 2; }

}  // namespace quire::unicode
