// Unicode normalization forms: decompose, sort marks by combining class, compose.
#include <algorithm>
#include <cstdint>
#include <span>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire::unicode {

namespace {

constexpr char32_t kHangulBase = 0xAC00, kLeadBase = 0x1100, kVowelBase = 0x1161,
                   kTailBase = 0x11A7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr char32_t kHangulCount = kLeadCount * kVowelCount * kTailCount;

bool IsHangulSyllable(char32_t code) { return code - kHangulBase < kHangulCount; }

std::uint8_t NormalFlags(char32_t code) {
  return code > 0x10FFFF ? 0 : kNormalFlagsBlocks[kNormalFlagsIndex[code >> 7] << 7 | (code & 127)];
}

bool IsCompatible(Form form) { return form == Form::kNfkc || form == Form::kNfkd; }
bool IsComposed(Form form) { return form == Form::kNfc || form == Form::kNfkc; }

// The flag that says a code point may change under `form`.
std::uint8_t ChangeFlag(Form form) {
  switch (form) {
    case Form::kNfc:
      return 4;
    case Form::kNfd:
      return 1;
    case Form::kNfkc:
      return 8;
    case Form::kNfkd:
      return 3;
  }
  return 0xFF;
}

void AppendDecomposed(std::u32string& out, char32_t code, bool compatible) {
  if (code < 0x80) {
    out += code;
    return;
  }
  if (IsHangulSyllable(code)) {
    const char32_t index = code - kHangulBase;
    out += static_cast<char32_t>(kLeadBase + index / (kVowelCount * kTailCount));
    out += static_cast<char32_t>(kVowelBase + index % (kVowelCount * kTailCount) / kTailCount);
    if (index % kTailCount != 0) out += kTailBase + index % kTailCount;
    return;
  }
  const int number = kDecompositionBlocks[kDecompositionIndex[code >> 7] << 7 | (code & 127)];
  if (number == 0) {
    out += code;
    return;
  }
  const DecompositionEntry& entry = kDecompositions[number - 1];
  out.append(kDecompositionPool + (compatible ? entry.compatible_start : entry.canonical_start),
             compatible ? entry.compatible_count : entry.canonical_count);
}

// What a version of the data says of code points; those it lacks stay as they are.
struct Data {
  FormVersion version;

  bool Has(char32_t code) const {
    return version == FormVersion::kUnicode15 || AgeOf(code) <= AgeClass::kUnicode9;
  }
  int ClassOf(char32_t code) const {
    const int combining = CombiningClass(code);
    return combining != 0 && Has(code) ? combining : 0;
  }
};

// Sorts each run of marks by combining class, keeping the order of equals.
void SortMarks(std::u32string& codes, Data data) {
  std::size_t at = 0;
  while (at < codes.size()) {
    if (data.ClassOf(codes[at]) == 0) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < codes.size() && data.ClassOf(codes[end]) != 0) ++end;
    std::stable_sort(codes.begin() + static_cast<std::ptrdiff_t>(at),
                     codes.begin() + static_cast<std::ptrdiff_t>(end),
                     [data](char32_t a, char32_t b) { return data.ClassOf(a) < data.ClassOf(b); });
    at = end;
  }
}

// What two code points compose into; 0 where they do not.
char32_t Compose(char32_t first, char32_t second) {
  if (first - kLeadBase < kLeadCount && second - kVowelBase < kVowelCount) {
    return kHangulBase + ((first - kLeadBase) * kVowelCount + (second - kVowelBase)) * kTailCount;
  }
  if (IsHangulSyllable(first) && (first - kHangulBase) % kTailCount == 0 &&
      second - kTailBase - 1 < kTailCount - 1) {
    return first + (second - kTailBase);
  }
  const std::span<const Composition> table(kCompositions, kCompositionsCount);
  const auto found = std::lower_bound(
      table.begin(), table.end(), std::pair(first, second),
      [](const Composition& c, const auto& key) { return std::pair(c.first, c.second) < key; });
  if (found == table.end() || found->first != first || found->second != second) return 0;
  return found->composed;
}

// Composes in place; `codes` is decomposed and sorted.
void ComposeAll(std::u32string& codes, Data data) {
  std::size_t length = 0;              // of the result so far
  std::size_t starter = codes.size();  // its index in the result; none yet
  int last_class = -1;                 // of the code point before, within the starter's marks
  for (const char32_t code : codes) {
    const int combining = data.ClassOf(code);
    if (starter < length && (last_class < combining || last_class == -1)) {
      const char32_t composed = Compose(codes[starter], code);
      if (composed != 0 && data.Has(composed)) {
        codes[starter] = composed;
        continue;
      }
    }
    if (combining == 0) {
      starter = length;
      last_class = -1;
    } else {
      last_class = combining;
    }
    codes[length++] = code;
  }
  codes.resize(length);
}

}  // namespace

int CombiningClass(char32_t code) {
  if (code < 0x300 || code > 0x10FFFF) return 0;
  return kCombiningClassBlocks[kCombiningClassIndex[code >> 7] << 7 | (code & 127)];
}

bool IsSurelyNormalized(std::string_view text, Form form) {
  const std::uint8_t changes = ChangeFlag(form);
  int last_class = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      last_class = 0;
      continue;
    }
    const CodePoint point = FirstCodePoint(text.substr(at));
    at += point.length;
    if (NormalFlags(point.code) & changes) return false;
    const int combining = CombiningClass(point.code);
    if (combining != 0 && combining < last_class) return false;
    last_class = combining;
  }
  return true;
}

std::string Normalize(std::string_view text, Form form, FormVersion version) {
  if (IsSurelyNormalized(text, form)) return std::string(text);
  const Data data{version};
  std::u32string codes;
  codes.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    text.remove_prefix(point.length);
    if ((NormalFlags(point.code) & 3) != 0 && data.Has(point.code)) {
      AppendDecomposed(codes, point.code, IsCompatible(form));
    } else {
      codes += point.code;
    }
  }
  SortMarks(codes, data);
  if (IsComposed(form)) ComposeAll(codes, data);
  return FromCodePoints(codes);
}

}  // namespace quire::unicode
