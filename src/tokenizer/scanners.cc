#include "tokenizer/scanners.h"

#include <array>
#include <cstdint>

#include "base/log.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

// What a code point is to the patterns, as bits.
using Kinds = std::uint16_t;
constexpr Kinds kLetter = 1, kNumber = 2, kSpace = 4, kNewline = 8, kMark = 16;
constexpr Kinds kUpper = 32;     // Lu, Lt
constexpr Kinds kLower = 64;     // Ll
constexpr Kinds kUncased = 128;  // Lm, Lo, M
constexpr Kinds kSymbol = 256;   // P, S

constexpr Kinds KindsOfCategory(unicode::Category category) {
  using enum unicode::Category;
  switch (category) {
    case kLu:
    case kLt:
      return kLetter | kUpper;
    case kLl:
      return kLetter | kLower;
    case kLm:
    case kLo:
      return kLetter | kUncased;
    case kMn:
    case kMc:
    case kMe:
      return kMark | kUncased;
    case kNd:
    case kNl:
    case kNo:
      return kNumber;
    default:
      return unicode::SetOf(category) & (unicode::kPunctuation | unicode::kSymbol) ? kSymbol : 0;
  }
}

constexpr std::array<Kinds, 32> MakeCategoryTable() {
  std::array<Kinds, 32> table{};
  for (int i = 0; i < 30; ++i) table[i] = KindsOfCategory(static_cast<unicode::Category>(i));
  return table;
}

constexpr std::array<Kinds, 128> MakeAsciiTable() {
  std::array<Kinds, 128> table{};
  for (int c = 0; c < 128; ++c) {
    if (c >= 'a' && c <= 'z') table[c] = kLetter | kLower;
    if (c >= 'A' && c <= 'Z') table[c] = kLetter | kUpper;
    if (c >= '0' && c <= '9') table[c] = kNumber;
    if (c == ' ' || (c >= 9 && c <= 13)) table[c] = kSpace;
    if (c == '\n' || c == '\r') table[c] |= kNewline;
    if (c > 32 && c < 127 && table[c] == 0) table[c] = kSymbol;
  }
  return table;
}

constexpr auto kCategoryTable = MakeCategoryTable();
constexpr auto kAsciiTable = MakeAsciiTable();

Kinds KindsOf(char32_t code) {
  if (code < 128) return kAsciiTable[code];
  const std::uint8_t properties = unicode::PropertiesOf(code);
  return kCategoryTable[properties & 31] | (properties & 32 ? kSpace : 0);
}

// A place in the text and what stands there; `length` is 0 at the end.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;
  int length = 0;
  Kinds kinds = 0;

  Cursor(std::string_view whole, std::size_t start) : text(whole), at(start) { Look(); }

  void Look() {
    if (at >= text.size()) {
      length = 0;
      kinds = 0;
      return;
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 128) {
      length = 1;
      kinds = kAsciiTable[byte];
      return;
    }
    const CodePoint point = FirstCodePoint(text.substr(at));
    length = point.length;
    kinds = KindsOf(point.code);
  }
  bool is_end() const { return length == 0; }
  char byte() const { return text[at]; }
  void Next() {
    at += length;
    Look();
  }
  void SkipAny(Kinds wanted) {
    while (kinds & wanted) Next();
  }
  // Skips what has none of the kinds.
  void SkipNone(Kinds unwanted) {
    while (!is_end() && !(kinds & unwanted)) Next();
  }
  void SkipNumbers(int max_count) {
    for (int i = 0; i < max_count && (kinds & kNumber); ++i) Next();
  }
};

// The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at `at`; `at` where there is none. In
// any case U+017F is an s, as case folding has it.
std::size_t Contraction(std::string_view text, std::size_t at, bool any_case) {
  if (at >= text.size() || text[at] != '\'') return at;
  const auto letter = [&](std::size_t i) -> char {
    if (i >= text.size()) return 0;
    const char c = text[i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  if (any_case && text.substr(at + 1, 2) == "\xC5\xBF") return at + 3;
  return at;
}

// \s+(?!\S)|\s+ : a run of white space, without its last code point where something follows it.
std::size_t WhiteSpace(std::string_view text, std::size_t at) {
  Cursor cursor(text, at);
  std::size_t last = at;
  while (cursor.kinds & kSpace) {
    last = cursor.at;
    cursor.Next();
  }
  return cursor.is_end() || last == at ? cursor.at : last;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last line end of the run, where it has one.
std::size_t WhiteSpaceOrLines(std::string_view text, std::size_t at) {
  Cursor cursor(text, at);
  std::size_t last = at, after_line = at;
  while (cursor.kinds & kSpace) {
    last = cursor.at;
    const bool is_line = cursor.kinds & kNewline;
    cursor.Next();
    if (is_line) after_line = cursor.at;
  }
  if (after_line != at) return after_line;
  return cursor.is_end() || last == at ? cursor.at : last;
}

std::size_t ScanGpt2(std::string_view text, std::size_t at) {
  if (const std::size_t end = Contraction(text, at, false); end != at) return end;
  Cursor cursor(text, at);
  if (cursor.byte() == ' ') {
    cursor.Next();
    if (cursor.is_end() || cursor.kinds & kSpace) return WhiteSpace(text, at);
  }
  if (cursor.kinds & kLetter) {
    cursor.SkipAny(kLetter);
  } else if (cursor.kinds & kNumber) {
    cursor.SkipAny(kNumber);
  } else if (cursor.kinds & kSpace) {
    return WhiteSpace(text, at);
  } else {
    cursor.SkipNone(kSpace | kLetter | kNumber);
  }
  return cursor.at;
}

// The patterns of cl100k's kind: they differ in the length of numbers and in whether marks belong
// to words.
template <int kMaxNumbers, Kinds kWord>
std::size_t ScanCl100k(std::string_view text, std::size_t at) {
  if (const std::size_t end = Contraction(text, at, true); end != at) return end;
  Cursor cursor(text, at);
  if (cursor.kinds & kNumber) {
    cursor.SkipNumbers(kMaxNumbers);
    return cursor.at;
  }
  if (!(cursor.kinds & (kWord | kNewline))) {
    const Cursor first = cursor;
    cursor.Next();
    if (!(cursor.kinds & kWord)) {
      const bool blank =
          first.byte() == ' ' && !cursor.is_end() && !(cursor.kinds & (kSpace | kWord | kNumber));
      if (!blank && first.kinds & kSpace) return WhiteSpaceOrLines(text, at);
      cursor.SkipNone(kSpace | kWord | kNumber);
      cursor.SkipAny(kNewline);
      return cursor.at;
    }
  }
  if (!(cursor.kinds & kWord)) return WhiteSpaceOrLines(text, at);
  cursor.SkipAny(kWord);
  return cursor.at;
}

// The end of [UPPER UNCASED]*[LOWER UNCASED]+ or, failing that, of [UPPER UNCASED]+ at the cursor.
// Of the first, a run of upper case and uncased letters with no lower case letter behind it gives
// back what follows its last uncased one. `only_first`: 0 where the first does not match.
std::size_t CasedWord(Cursor cursor, bool only_first) {
  const std::size_t start = cursor.at;
  std::size_t after_uncased = start;
  while (cursor.kinds & (kUpper | kUncased)) {
    const bool is_uncased = cursor.kinds & kUncased;
    cursor.Next();
    if (is_uncased) after_uncased = cursor.at;
  }
  if (cursor.kinds & kLower) {
    cursor.SkipAny(kLower | kUncased);
    return cursor.at;
  }
  if (after_uncased != start) return after_uncased;
  return only_first ? start : cursor.at;
}

// The words of o200k's kind at `at`, with one code point that is no letter, number or line end in
// front; `at` where there is none. A mark may be either the code point in front or part of a word.
std::size_t WordWithPrefix(std::string_view text, std::size_t at) {
  const Cursor cursor(text, at);
  const bool can_be_prefix = !(cursor.kinds & (kLetter | kNumber | kNewline));
  Cursor after = cursor;
  after.Next();
  for (const bool only_first : {true, false}) {
    if (can_be_prefix) {
      if (const std::size_t end = CasedWord(after, only_first); end != after.at) return end;
    }
    if (const std::size_t end = CasedWord(cursor, only_first); end != at) return end;
  }
  return at;
}

template <int kMaxNumbers, bool kContractions>
std::size_t ScanO200k(std::string_view text, std::size_t at) {
  Cursor cursor(text, at);
  if (cursor.kinds & kNumber) {
    cursor.SkipNumbers(kMaxNumbers);
    return cursor.at;
  }
  if (const std::size_t end = WordWithPrefix(text, at); end != at) {
    return kContractions ? Contraction(text, end, true) : end;
  }
  if (cursor.byte() == ' ') {
    cursor.Next();
    if (cursor.is_end() || cursor.kinds & (kSpace | kLetter | kNumber)) {
      return WhiteSpaceOrLines(text, at);
    }
  } else if (cursor.kinds & kSpace) {
    return WhiteSpaceOrLines(text, at);
  }
  cursor.SkipNone(kSpace | kLetter | kNumber);
  while (!cursor.is_end() && (cursor.kinds & kNewline || cursor.byte() == '/')) cursor.Next();
  return cursor.at;
}

// DeepSeek-V3 splits three times.
std::size_t ScanNumbers3(std::string_view text, std::size_t at) {
  Cursor cursor(text, at);
  cursor.SkipNumbers(3);
  return cursor.at;
}

std::size_t ScanCjk(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint point = FirstCodePoint(text.substr(at));
    const bool is_cjk = (point.code >= 0x4E00 && point.code <= 0x9FA5) ||
                        (point.code >= 0x3040 && point.code <= 0x30FF);
    if (!is_cjk) break;
    at += point.length;
  }
  return at;
}

bool IsAsciiLetter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

std::size_t ScanDeepseek3(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 128 && kAsciiTable[first] & kSymbol && at + 1 < text.size() &&
      IsAsciiLetter(text[at + 1])) {
    std::size_t end = at + 1;
    while (end < text.size() && IsAsciiLetter(text[end])) ++end;
    return end;
  }
  constexpr Kinds kWord = kLetter | kMark;
  Cursor cursor(text, at);
  const Cursor start = cursor;
  if (!(cursor.kinds & (kNewline | kLetter | kSymbol))) cursor.Next();
  if (cursor.kinds & kWord) {
    cursor.SkipAny(kWord);
    return cursor.at;
  }
  cursor = start;
  if (cursor.kinds & kWord) {
    cursor.SkipAny(kWord);
    return cursor.at;
  }
  if (cursor.byte() == ' ') cursor.Next();
  if (cursor.kinds & kSymbol) {
    cursor.SkipAny(kSymbol);
    cursor.SkipAny(kNewline);
    return cursor.at;
  }
  return start.kinds & kSpace ? WhiteSpaceOrLines(text, at) : at;
}

constexpr NamedScanner kScanners[] = {
    {"gpt2", R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re",
     ScanGpt2},
    {"cl100k",
     R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     ScanCl100k<3, kLetter>},
    {"qwen2",
     R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     ScanCl100k<1, kLetter>},
    {"qwen35",
     R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     ScanCl100k<1, kLetter | kMark>},
    {"o200k",
     R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     ScanO200k<3, true>},
    {"tekken",
     R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     ScanO200k<1, false>},
    {"numbers3", R"re(\p{N}{1,3})re", ScanNumbers3},
    {"cjk", R"re([一-龥぀-ゟ゠-ヿ]+)re", ScanCjk},
    {"deepseek3",
     R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     ScanDeepseek3},
};

}  // namespace

const NamedScanner* FindScanner(std::string_view source) {
  for (const NamedScanner& scanner : kScanners) {
    if (scanner.source == source) return &scanner;
  }
  return nullptr;
}

const NamedScanner& ScannerNamed(std::string_view name) {
  for (const NamedScanner& scanner : kScanners) {
    if (scanner.name == name) return scanner;
  }
  QUIRE_CHECK(false) << "no scanner is called " << name;
  return kScanners[0];
}

const NamedScanner* AllScanners(std::size_t* count) {
  *count = std::size(kScanners);
  return kScanners;
}

}  // namespace quire
