#include "structured/regex.h"

#include <optional>
#include <string>
#include <utility>

#include "base/strings.h"
#include "structured/regex_classes.h"
#include "tokenizer/utf8.h"

namespace quire::structured {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 10;
constexpr int kMaxDepth = 128;
constexpr int kMaxRepeat = 100'000;

using Kind = RegexNode::Kind;

// What a letter behind a backslash stands for, where it is a class of characters.
std::optional<CharSet> ClassOf(char32_t letter, bool is_wide) {
  switch (letter) {
    case 'd':
      return Digits(is_wide);
    case 'w':
      return WordChars(is_wide);
    case 's':
      return Spaces(is_wide);
    case 'D':
      return ~Digits(!is_wide);
    case 'W':
      return ~WordChars(!is_wide);
    case 'S':
      return ~Spaces(!is_wide);
    default:
      return std::nullopt;
  }
}

class Parser {
 public:
  Parser(std::string_view text, const RegexOptions& options) : text_(text), options_(options) {}

  Result<Regex> Parse() {
    if (text_.size() > kMaxBytes) {
      return ResourceExhausted(
          StrCat("regex: has ", text_.size(), " bytes, at most ", kMaxBytes, " are read"));
    }
    if (!IsValidUtf8(text_)) return InvalidArgument("regex: is not valid UTF-8");
    if (Take("(?i)")) ignores_case_ = true;
    QUIRE_ASSIGN_OR_RETURN(regex_.root, ParseChoice(0));
    if (pos_ < text_.size()) return Bad("unbalanced )");
    return std::move(regex_);
  }

 private:
  Status Bad(std::string_view what) const {
    return InvalidArgument(StrCat("regex: ", what, " at byte ", pos_, " of ", Printable(text_)));
  }
  Status Unsupported(std::string_view what) const {
    return Unimplemented(
        StrCat("regex: unsupported: ", what, " at byte ", pos_, " of ", Printable(text_)));
  }

  bool at_end() const { return pos_ >= text_.size(); }
  char Peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  bool Take(std::string_view what) {
    if (!text_.substr(pos_).starts_with(what)) return false;
    pos_ += what.size();
    return true;
  }
  char32_t TakeCodePoint() {
    const CodePoint code = FirstCodePoint(text_.substr(pos_));
    pos_ += static_cast<std::size_t>(code.length);
    return code.code;
  }
  std::int32_t Add(RegexNode node) {
    regex_.nodes.push_back(std::move(node));
    return static_cast<std::int32_t>(regex_.nodes.size()) - 1;
  }
  std::int32_t AddChars(CharSet chars) {
    if (ignores_case_) chars = WithBothCases(chars);
    return Add({.kind = Kind::kChars, .chars = std::move(chars)});
  }

  // Python's $ also stands before a line feed that ends the text.
  std::int32_t AddEnd() {
    const std::int32_t end = Add({.kind = Kind::kEnd});
    if (!options_.is_wide) return end;
    const std::int32_t feed = Add({.kind = Kind::kChars, .chars = CharSet(U'\n')});
    const std::int32_t maybe = Add({.kind = Kind::kRepeat, .parts = {feed}, .min = 0, .max = 1});
    return Add({.kind = Kind::kSequence, .parts = {maybe, end}});
  }

  Result<std::int32_t> ParseChoice(int depth);
  Result<std::int32_t> ParseSequence(int depth);
  Result<std::int32_t> ParseItem(int depth);
  Result<std::int32_t> ParseGroup(int depth);
  Result<std::int32_t> ParseQuantifiers(std::int32_t item, bool is_assertion);
  Result<bool> ParseBounds(int& min, int& max);
  Result<CharSet> ParseClass();
  Result<CharSet> ParseClassItem();
  Result<CharSet> ParseEscape(bool is_in_class);
  Result<CharSet> ParseCategory(bool is_negated);
  Result<char32_t> ParseHex(int min_digits, int max_digits);
  Result<CharSet> ParseUnicodeEscape();

  std::string_view text_;
  RegexOptions options_;
  std::size_t pos_ = 0;
  bool ignores_case_ = false;
  Regex regex_;
};

Result<std::int32_t> Parser::ParseChoice(int depth) {
  if (depth > kMaxDepth) {
    return ResourceExhausted(StrCat("regex: groups are nested deeper than ", kMaxDepth));
  }
  RegexNode choice{.kind = Kind::kChoice};
  do {
    QUIRE_ASSIGN_OR_RETURN(const std::int32_t part, ParseSequence(depth));
    choice.parts.push_back(part);
  } while (Take("|"));
  return choice.parts.size() == 1 ? choice.parts[0] : Add(std::move(choice));
}

Result<std::int32_t> Parser::ParseSequence(int depth) {
  RegexNode sequence{.kind = Kind::kSequence};
  while (!at_end() && Peek() != '|' && Peek() != ')') {
    QUIRE_ASSIGN_OR_RETURN(const std::int32_t item, ParseItem(depth));
    const Kind kind = regex_.nodes[static_cast<std::size_t>(item)].kind;
    QUIRE_ASSIGN_OR_RETURN(const std::int32_t part,
                           ParseQuantifiers(item, kind == Kind::kStart || kind == Kind::kEnd));
    sequence.parts.push_back(part);
  }
  if (sequence.parts.empty()) return Add({.kind = Kind::kEmpty});
  return sequence.parts.size() == 1 ? sequence.parts[0] : Add(std::move(sequence));
}

Result<std::int32_t> Parser::ParseItem(int depth) {
  switch (Peek()) {
    case '(':
      return ParseGroup(depth);
    case '[': {
      QUIRE_ASSIGN_OR_RETURN(CharSet chars, ParseClass());
      return AddChars(std::move(chars));
    }
    case '.':
      ++pos_;
      // Python ends a line at \n alone, ECMAScript at these four.
      return Add(
          {.kind = Kind::kChars, .chars = ~(options_.is_wide ? CharSet(U'\n') : LineEnds())});
    case '^':
      ++pos_;
      return Add({.kind = Kind::kStart});
    case '$':
      ++pos_;
      return AddEnd();
    case '*':
    case '+':
    case '?':
      return Bad("nothing to repeat");
    case '\\': {
      if (Take("\\A")) return Add({.kind = Kind::kStart});
      if (Take("\\Z") || Take("\\z")) return Add({.kind = Kind::kEnd});
      QUIRE_ASSIGN_OR_RETURN(CharSet chars, ParseEscape(false));
      return AddChars(std::move(chars));
    }
    default:
      return AddChars(CharSet(TakeCodePoint()));
  }
}

Result<std::int32_t> Parser::ParseGroup(int depth) {
  if (Take("(?:")) {
    // fall through to the contents
  } else if (Take("(?P<") || (text_.substr(pos_).starts_with("(?<") && Peek(3) != '=' &&
                              Peek(3) != '!' && Take("(?<"))) {
    const std::size_t end = text_.find('>', pos_);
    if (end == std::string_view::npos || end == pos_) return Bad("a group's name does not end");
    pos_ = end + 1;
  } else if (Peek(1) == '?') {
    const bool looks_around = Peek(2) == '=' || Peek(2) == '!' || Peek(2) == '<';
    return Unsupported(looks_around ? "look-around" : "this kind of group");
  } else {
    ++pos_;
  }
  QUIRE_ASSIGN_OR_RETURN(const std::int32_t inside, ParseChoice(depth + 1));
  if (!Take(")")) return Bad("a group does not end");
  return inside;
}

Result<std::int32_t> Parser::ParseQuantifiers(std::int32_t item, bool is_assertion) {
  int min = 0;
  int max = kUnbounded;
  if (Take("*")) {
  } else if (Take("+")) {
    min = 1;
  } else if (Take("?")) {
    max = 1;
  } else {
    QUIRE_ASSIGN_OR_RETURN(const bool has_bounds, ParseBounds(min, max));
    if (!has_bounds) return item;
  }
  if (is_assertion) return Bad("an anchor is repeated");
  if (!Take("?") && Peek() == '+') return Unsupported("possessive repetition");
  if (Peek() == '*' || Peek() == '+' || Peek() == '?') return Bad("multiple repeat");
  return Add({.kind = Kind::kRepeat, .parts = {item}, .min = min, .max = max});
}

// {3}, {3,}, {,3} or {3,5}; any other brace stands for itself.
Result<bool> Parser::ParseBounds(int& min, int& max) {
  if (Peek() != '{') return false;
  std::size_t end = pos_ + 1;
  const auto read = [&](int fallback) -> std::optional<int> {
    const std::size_t start = end;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    if (start == end) return fallback;
    if (end - start > 9) return kMaxRepeat + 1;
    return ParseNumber<int>(text_.substr(start, end - start));
  };
  const std::size_t digits = end;
  min = read(0).value_or(0);
  const bool has_min = end > digits;
  max = min;
  if (end < text_.size() && text_[end] == ',') {
    ++end;
    max = read(kUnbounded).value_or(kUnbounded);
    if (!has_min && max == kUnbounded) return false;
  } else if (!has_min) {
    return false;
  }
  if (end >= text_.size() || text_[end] != '}') return false;
  if (min > kMaxRepeat || max > kMaxRepeat) {
    return ResourceExhausted(
        StrCat("regex: a repetition at byte ", pos_, " is larger than ", kMaxRepeat));
  }
  if (max != kUnbounded && max < min) return Bad("a repetition's bounds are out of order");
  pos_ = end + 1;
  return true;
}

Result<CharSet> Parser::ParseClass() {
  ++pos_;
  const bool is_negated = Take("^");
  CharSet chars;
  bool is_first = true;
  while (is_first || Peek() != ']') {
    if (at_end()) return Bad("a class does not end");
    if (is_first && Peek() == ']') return Unsupported("a class that is empty or begins with ]");
    is_first = false;
    if (Take("[:")) return Unsupported("a POSIX class");
    QUIRE_ASSIGN_OR_RETURN(CharSet item, ParseClassItem());
    const bool is_range = Peek() == '-' && Peek(1) != ']' && Peek(1) != '\0';
    if (is_range) {
      ++pos_;
      QUIRE_ASSIGN_OR_RETURN(const CharSet last, ParseClassItem());
      const auto is_one = [](const CharSet& set) {
        return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
      };
      if (!is_one(item) || !is_one(last)) return Bad("a range of a class needs two characters");
      if (last.ranges()[0].first < item.ranges()[0].first) return Bad("a range is out of order");
      item = CharSet(item.ranges()[0].first, last.ranges()[0].first);
    }
    chars |= item;
  }
  ++pos_;
  if (!is_negated) return chars;
  return ~(ignores_case_ ? WithBothCases(chars) : chars);
}

Result<CharSet> Parser::ParseClassItem() {
  if (at_end()) return Bad("a class does not end");
  if (Peek() == '\\') return ParseEscape(true);
  return CharSet(TakeCodePoint());
}

Result<CharSet> Parser::ParseEscape(bool is_in_class) {
  ++pos_;
  if (at_end()) return Bad("a backslash ends the text");
  const char32_t code = TakeCodePoint();
  if (auto chars = ClassOf(code, options_.is_wide)) return *std::move(chars);
  if (const auto control = ControlOf(code)) return CharSet(*control);
  switch (code) {
    case 'x':
    case 'U': {
      const int digits = code == 'x' ? 2 : 8;
      QUIRE_ASSIGN_OR_RETURN(const char32_t value, ParseHex(digits, digits));
      return CharSet(value);
    }
    case 'u':
      return ParseUnicodeEscape();
    case 'p':
    case 'P':
      return ParseCategory(code == 'P');
    case 'b':
      if (is_in_class) return CharSet(U'\b');
      return Unsupported("a word boundary");
    case 'B':
      return Unsupported("a word boundary");
    default:
      break;
  }
  const bool is_name =
      (code >= '1' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  if (!is_name) return CharSet(code);
  if (code == 'k' || (code >= '1' && code <= '9')) return Unsupported("a back-reference");
  return Bad("an unknown escape");
}

Result<CharSet> Parser::ParseCategory(bool is_negated) {
  const std::size_t end = Peek() == '{' ? text_.find('}', pos_) : std::string_view::npos;
  if (end == std::string_view::npos) return Bad("\\p needs a category in braces");
  const CharSet chars = CategoryChars(text_.substr(pos_ + 1, end - pos_ - 1));
  if (chars.empty()) return Unsupported("this Unicode property");
  pos_ = end + 1;
  return is_negated ? ~chars : chars;
}

Result<char32_t> Parser::ParseHex(int min_digits, int max_digits) {
  char32_t value = 0;
  int count = 0;
  for (; count < max_digits; ++count) {
    const char c = Peek();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    value = value * 16 + static_cast<char32_t>(digit);
    ++pos_;
  }
  if (count < min_digits) return Bad("an escape needs more hexadecimal digits");
  if (value > kLastCodePoint) return Bad("an escape is larger than any code point");
  return value;
}

// \\u0041, \\u{1F600}, and two halves of a surrogate pair.
Result<CharSet> Parser::ParseUnicodeEscape() {
  if (Take("{")) {
    QUIRE_ASSIGN_OR_RETURN(const char32_t code, ParseHex(1, 6));
    if (!Take("}")) return Bad("\\u{ does not end");
    return CharSet(code);
  }
  QUIRE_ASSIGN_OR_RETURN(char32_t code, ParseHex(4, 4));
  const bool is_high = code >= 0xD800 && code < 0xDC00;
  if (is_high && Take("\\u")) {
    QUIRE_ASSIGN_OR_RETURN(const char32_t low, ParseHex(4, 4));
    if (low < 0xDC00 || low > 0xDFFF) return Bad("half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (code >= 0xD800 && code <= 0xDFFF) return Bad("half of a surrogate pair");
  return CharSet(code);
}

}  // namespace

Result<Regex> ParseRegex(std::string_view text, const RegexOptions& options) {
  return Parser(text, options).Parse();
}

Regex LiteralRegex(std::string_view text) {
  Regex regex;
  RegexNode sequence{.kind = Kind::kSequence};
  while (!text.empty()) {
    const CodePoint code = FirstCodePoint(text);
    text.remove_prefix(static_cast<std::size_t>(code.length));
    sequence.parts.push_back(static_cast<std::int32_t>(regex.nodes.size()));
    regex.nodes.push_back({.kind = Kind::kChars, .chars = CharSet(code.code)});
  }
  regex.root = static_cast<std::int32_t>(regex.nodes.size());
  regex.nodes.push_back(std::move(sequence));
  return regex;
}

}  // namespace quire::structured
