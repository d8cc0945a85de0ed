// Properties of code points, case mappings and normalization forms. Unicode 15.0, with the
// categories of 17.0; some functions go by older versions, as the originals of tokenizers do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/unicode_tables.h"

namespace quire::unicode {

// General categories, in the order of the tables.
enum class Category : std::uint8_t {
  kCn,
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCs,
  kCo,
};

// Sets of categories as bits.
using CategorySet = std::uint32_t;
constexpr CategorySet SetOf(Category category) {
  return CategorySet{1} << static_cast<int>(category);
}
constexpr CategorySet SetOf(Category first, Category last) {
  return (SetOf(last) << 1) - SetOf(first);
}
inline constexpr CategorySet kLetter = SetOf(Category::kLu, Category::kLo);
inline constexpr CategorySet kMark = SetOf(Category::kMn, Category::kMe);
inline constexpr CategorySet kNumber = SetOf(Category::kNd, Category::kNo);
inline constexpr CategorySet kPunctuation = SetOf(Category::kPc, Category::kPo);
inline constexpr CategorySet kSymbol = SetOf(Category::kSm, Category::kSo);
inline constexpr CategorySet kOther = SetOf(Category::kCc, Category::kCo) | SetOf(Category::kCn);

inline std::uint8_t PropertiesOf(char32_t code) {
  return code > 0x10FFFF ? 0 : kPropertiesBlocks[kPropertiesIndex[code >> 7] << 7 | (code & 127)];
}
inline Category CategoryOf(char32_t code) { return static_cast<Category>(PropertiesOf(code) & 31); }
inline bool IsIn(char32_t code, CategorySet set) { return set >> (PropertiesOf(code) & 31) & 1; }
inline bool IsWhiteSpace(char32_t code) { return PropertiesOf(code) & 32; }
// Letters and other alphabetic code points, marks, decimal digits, connectors: \w of a regex.
inline bool IsWord(char32_t code) { return PropertiesOf(code) & 64; }
inline bool IsLetter(char32_t code) { return IsIn(code, kLetter); }
inline bool IsNumber(char32_t code) { return IsIn(code, kNumber); }

enum class AgeClass : std::uint8_t { kUnicode8, kUnicode9, kUnicode14, kLater };
AgeClass AgeOf(char32_t code);  // of an unassigned code point: kUnicode8

// ASCII punctuation and the categories P as of Unicode 8.0.
bool IsPunctuation8(char32_t code);
// Categories Mn, and Cc, Cf and Co, as of Unicode 8.0.
bool IsNonspacing8(char32_t code);
bool IsControl8(char32_t code);
// Categories M as of Unicode 9.0.
bool IsMark9(char32_t code);

// The name of the code point's script ("Latin", "Common"); "Unknown" where it has none.
std::string_view ScriptOf(char32_t code);

// Appends the full case mapping of one code point, without regard to its neighbours.
void AppendLower(std::string& out, char32_t code);
void AppendUpper(std::string& out, char32_t code);
void AppendTitle(std::string& out, char32_t code);
bool IsCased(char32_t code);
bool IsCaseIgnorable(char32_t code);

enum class Form : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };
// Whose data is used: tokenizer.json's normalizers leave what came after Unicode 9.0 alone.
enum class FormVersion : std::uint8_t { kUnicode9, kUnicode15 };

// The text in a normalization form; valid UTF-8 in and out. Linear, but for sorting runs of
// combining marks.
std::string Normalize(std::string_view text, Form form,
                      FormVersion version = FormVersion::kUnicode15);

// Whether Normalize() would surely give the text back; false where it may not.
bool IsSurelyNormalized(std::string_view text, Form form);

int CombiningClass(char32_t code);

}  // namespace quire::unicode
