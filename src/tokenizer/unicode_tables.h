// Unicode data as tables; written into unicode_tables.cc by tools/make_unicode_tables.py.
//
// A trie has two stages: kXIndex[code >> 7] is the number of a block of 128 values in kXBlocks.
// Range tables are sorted by their first code point and do not overlap.
#pragma once

#include <cstdint>

namespace quire::unicode {

struct CodeRange {
  char32_t first, last;
  std::uint32_t value;
};

// The code points first, first + step, …, last map to themselves plus `distance`.
struct CaseRange {
  char32_t first, last;
  std::int32_t step, distance;
};

// Case mappings to several code points; unused places are 0.
struct SpecialCase {
  char32_t code;
  char32_t lower[3], title[3], upper[3];
};

// Ranges of kDecompositionPool: the full canonical and the full compatibility decomposition.
struct DecompositionEntry {
  std::uint16_t canonical_start, canonical_count;
  std::uint16_t compatible_start, compatible_count;
};

struct Composition {
  char32_t first, second, composed;  // sorted by first, then second
};

// Bits 0 to 4: Category (unicode.h); bit 5: White_Space; bit 6: part of a word, as \w of a regex.
extern const std::uint16_t kPropertiesIndex[8704];
extern const std::uint8_t kPropertiesBlocks[];

extern const char* const kScriptNames[];
extern const int kScriptNamesCount;
extern const CodeRange kScripts[];  // value: index of kScriptNames
extern const int kScriptsCount;
extern const CodeRange kGraphemeBreaks[];  // value: GraphemeBreak (graphemes.cc)
extern const int kGraphemeBreaksCount;
extern const CodeRange kPictographic[];
extern const int kPictographicCount;
// When a code point was assigned, by AgeClass (unicode.h); those of Unicode 8.0 stand in no range.
extern const CodeRange kAges[];
extern const int kAgesCount;
extern const CodeRange kCasing[];  // bit 0: Cased; bit 1: Case_Ignorable
extern const int kCasingCount;

extern const CaseRange kLower[];
extern const int kLowerCount;
extern const CaseRange kUpper[];
extern const int kUpperCount;
extern const CaseRange kTitle[];  // where it is not the upper case
extern const int kTitleCount;
extern const SpecialCase kSpecialCases[];
extern const int kSpecialCasesCount;

// Bits: 0 canonical decomposition (Hangul included), 1 compatibility decomposition, 2 may change
// under NFC or compose with what stands before it, 3 the same under NFKC.
extern const std::uint8_t kNormalFlagsIndex[8704];
extern const std::uint8_t kNormalFlagsBlocks[];
extern const std::uint8_t kCombiningClassIndex[8704];
extern const std::uint8_t kCombiningClassBlocks[];
extern const std::uint8_t kDecompositionIndex[8704];  // 0: none; else one more than the entry
extern const std::uint16_t kDecompositionBlocks[];
extern const DecompositionEntry kDecompositions[];
extern const char32_t kDecompositionPool[];
extern const Composition kCompositions[];
extern const int kCompositionsCount;

}  // namespace quire::unicode
