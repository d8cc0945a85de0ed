#include "structured/ebnf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "structured/regex_classes.h"
#include "tokenizer/utf8.h"

namespace quire::structured {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr int kMaxDepth = 128;
constexpr int kMaxRepeat = 100'000;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameChar(char c) { return IsNameStart(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

class EbnfParser {
 public:
  EbnfParser(std::string_view text, Grammar& grammar) : text_(text), grammar_(grammar) {}

  Result<Grammar::Rule> Parse() {
    if (text_.size() > kMaxBytes) {
      return ResourceExhausted(
          StrCat("grammar: has ", text_.size(), " bytes, at most ", kMaxBytes, " are read"));
    }
    if (!IsValidUtf8(text_)) return InvalidArgument("grammar: is not valid UTF-8");
    Skip();
    while (pos_ < text_.size()) {
      QUIRE_RETURN_IF_ERROR(ParseRule());
      Skip();
    }
    for (const auto& [name, entry] : rules_) {
      if (!entry.is_defined) {
        return InvalidArgument(StrCat("grammar: line ", LineAt(entry.at), ": the rule ",
                                      Printable(name), " is not defined"));
      }
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) return InvalidArgument("grammar: has no rule called root");
    return root->second.rule;
  }

 private:
  struct Entry {
    Grammar::Rule rule = 0;
    bool is_defined = false;
    std::size_t at = 0;  // where it was first met
  };

  std::size_t Line() const { return LineAt(pos_); }
  std::size_t LineAt(std::size_t pos) const {
    return 1 + static_cast<std::size_t>(std::count(
                   text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(pos), '\n'));
  }
  Status Bad(std::string_view what) const {
    return InvalidArgument(StrCat("grammar: line ", Line(), ": ", what));
  }
  Status Unsupported(std::string_view what) const {
    return Unimplemented(StrCat("grammar: unsupported: line ", Line(), ": ", what));
  }
  char Peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c || pos_ >= text_.size()) return false;
    ++pos_;
    return true;
  }

  // White space and comments.
  void Skip() {
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == '#') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++pos_;
      } else {
        return;
      }
    }
  }

  std::string_view TakeName() {
    const std::size_t start = pos_;
    while (IsNameChar(Peek())) ++pos_;
    return text_.substr(start, pos_ - start);
  }

  // Whether a name and ::= follow: a rule begins here.
  bool IsAtRule() {
    const std::size_t start = pos_;
    TakeName();
    while (Peek() == ' ' || Peek() == '\t') ++pos_;
    const bool is_rule = text_.substr(pos_).starts_with("::=");
    pos_ = start;
    return is_rule;
  }

  Entry& EntryOf(std::string_view name) {
    const auto [place, is_new] = rules_.try_emplace(std::string(name));
    if (is_new) place->second = {grammar_.AddRule(), false, pos_};
    return place->second;
  }

  Status ParseRule() {
    if (!IsNameStart(Peek())) return Bad("a rule's name must stand here");
    const std::string_view name = TakeName();
    Skip();
    if (Peek() == '[') return Unsupported("attributes of a rule");
    if (!text_.substr(pos_).starts_with("::=")) return Bad("::= must follow a rule's name");
    pos_ += 3;
    Entry& entry = EntryOf(name);
    if (entry.is_defined) return Bad(StrCat("the rule ", Printable(name), " stands twice"));
    entry.is_defined = true;
    const Grammar::Rule rule = entry.rule;
    QUIRE_ASSIGN_OR_RETURN(const Grammar::Node body, ParseChoice(0));
    grammar_.SetBody(rule, body);
    Skip();
    if (pos_ < text_.size() && !IsNameStart(Peek())) return Bad("unexpected text after a rule");
    return {};
  }

  Result<Grammar::Node> ParseChoice(int depth) {
    if (depth > kMaxDepth) {
      return ResourceExhausted(StrCat("grammar: groups are nested deeper than ", kMaxDepth));
    }
    std::vector<Grammar::Node> ways;
    do {
      QUIRE_ASSIGN_OR_RETURN(const Grammar::Node way, ParseSequence(depth));
      ways.push_back(way);
      Skip();
    } while (Take('|'));
    return grammar_.Choice(std::move(ways));
  }

  Result<Grammar::Node> ParseSequence(int depth) {
    std::vector<Grammar::Node> parts;
    for (;;) {
      Skip();
      const char c = Peek();
      if (pos_ >= text_.size() || c == '|' || c == ')') break;
      if (IsNameStart(c) && IsAtRule()) break;
      QUIRE_ASSIGN_OR_RETURN(Grammar::Node part, ParseItem(depth));
      QUIRE_ASSIGN_OR_RETURN(part, ParseRepetition(part));
      parts.push_back(part);
    }
    return grammar_.Sequence(std::move(parts));
  }

  Result<Grammar::Node> ParseItem(int depth) {
    const char c = Peek();
    if (c == '"') return ParseText();
    if (c == '[') return ParseClass();
    if (c == '.') {
      ++pos_;
      return grammar_.Chars(CharSet::All());
    }
    if (c == '(') {
      if (Peek(1) == '=') return Unsupported("look-ahead");
      ++pos_;
      QUIRE_ASSIGN_OR_RETURN(const Grammar::Node inside, ParseChoice(depth + 1));
      Skip();
      if (!Take(')')) return Bad("a group does not end");
      return inside;
    }
    if (c == '<' || c == '!') return Unsupported("a reference to tokens");
    if (!IsNameStart(c)) return Bad(StrCat("unexpected ", Printable(text_.substr(pos_, 1))));
    const std::string_view name = TakeName();
    if (Peek() == '(' && (name == "TagDispatch" || name == "Token" || name == "ExcludeToken" ||
                          name == "TokenTagDispatch" || name == "Regex" || name == "Substring")) {
      return Unsupported(StrCat("the macro ", name));
    }
    return grammar_.Ref(EntryOf(name).rule);
  }

  Result<Grammar::Node> ParseRepetition(Grammar::Node part) {
    for (int count = 0;; ++count) {
      if (count > 8) return Bad("too many repetitions of one thing");
      if (Take('*')) {
        part = grammar_.Repeat(part, 0, kUnbounded);
      } else if (Take('+')) {
        part = grammar_.Repeat(part, 1, kUnbounded);
      } else if (Take('?')) {
        part = grammar_.Repeat(part, 0, 1);
      } else if (Take('{')) {
        QUIRE_ASSIGN_OR_RETURN(part, ParseBounds(part));
      } else {
        return part;
      }
    }
  }

  Result<Grammar::Node> ParseBounds(Grammar::Node part) {
    const auto number = [&]() -> std::optional<int> {
      Skip();
      const std::size_t start = pos_;
      while (Peek() >= '0' && Peek() <= '9') ++pos_;
      if (start == pos_) return std::nullopt;
      if (pos_ - start > 9) return kMaxRepeat + 1;
      return ParseNumber<int>(text_.substr(start, pos_ - start));
    };
    const std::optional<int> first = number();
    Skip();
    int min = first.value_or(0);
    int max = min;
    if (Take(',')) {
      max = number().value_or(kUnbounded);
      Skip();
    } else if (!first) {
      return Bad("a repetition needs a number");
    }
    if (!Take('}')) return Bad("a repetition does not end");
    if (min > kMaxRepeat || max > kMaxRepeat) {
      return ResourceExhausted(
          StrCat("grammar: line ", Line(), ": a repetition is larger than ", kMaxRepeat));
    }
    if (max != kUnbounded && max < min) return Bad("a repetition's bounds are out of order");
    return grammar_.Repeat(part, min, max);
  }

  Result<Grammar::Node> ParseText() {
    ++pos_;
    std::string value;
    while (Peek() != '"') {
      if (pos_ >= text_.size() || Peek() == '\n') return Bad("a text does not end");
      QUIRE_ASSIGN_OR_RETURN(const char32_t code, TakeChar());
      AppendUtf8(value, code);
    }
    ++pos_;
    return grammar_.Text(value);
  }

  Result<Grammar::Node> ParseClass() {
    ++pos_;
    const bool is_negated = Take('^');
    CharSet chars;
    while (Peek() != ']') {
      if (pos_ >= text_.size() || Peek() == '\n') return Bad("a class does not end");
      if (Peek() == '\\' && (Peek(1) == 'd' || Peek(1) == 'w' || Peek(1) == 's')) {
        chars |= Peek(1) == 'd' ? Digits(false) : Peek(1) == 'w' ? WordChars(false) : Spaces(false);
        pos_ += 2;
        continue;
      }
      QUIRE_ASSIGN_OR_RETURN(const char32_t first, TakeChar());
      char32_t last = first;
      if (Peek() == '-' && Peek(1) != ']') {
        ++pos_;
        if (pos_ >= text_.size()) return Bad("a class does not end");
        QUIRE_ASSIGN_OR_RETURN(last, TakeChar());
      }
      if (last < first) return Bad("a range is out of order");
      chars |= CharSet(first, last);
    }
    ++pos_;
    return grammar_.Chars(is_negated ? ~chars : chars);
  }

  // One character, which may be an escape.
  Result<char32_t> TakeChar() {
    if (Peek() != '\\') {
      const CodePoint code = FirstCodePoint(text_.substr(pos_));
      pos_ += static_cast<std::size_t>(code.length);
      return code.code;
    }
    ++pos_;
    if (pos_ >= text_.size()) return Bad("a backslash ends the grammar");
    const char c = text_[pos_++];
    if (const auto control = ControlOf(static_cast<unsigned char>(c))) return *control;
    switch (c) {
      case 'b':
        return U'\b';
      case 'x':
        return TakeHex(2);
      case 'u':
        return TakeHex(4);
      case 'U':
        return TakeHex(8);
      default:
        break;
    }
    if (IsNameChar(c) && c != '-' && c != '.' && c != '_') return Bad("an unknown escape");
    --pos_;
    const CodePoint code = FirstCodePoint(text_.substr(pos_));
    pos_ += static_cast<std::size_t>(code.length);
    return code.code;
  }

  Result<char32_t> TakeHex(int digits) {
    const std::string_view hex = text_.substr(pos_, static_cast<std::size_t>(digits));
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    if (error != std::errc() || end != hex.data() + digits) {
      return Bad("an escape needs more hexadecimal digits");
    }
    if (value > kLastCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
      return Bad("an escape is no code point");
    }
    pos_ += static_cast<std::size_t>(digits);
    return static_cast<char32_t>(value);
  }

  std::string_view text_;
  Grammar& grammar_;
  std::size_t pos_ = 0;
  std::map<std::string, Entry, std::less<>> rules_;
};

}  // namespace

Result<Grammar::Rule> ParseEbnf(std::string_view text, Grammar& grammar) {
  return EbnfParser(text, grammar).Parse();
}

}  // namespace quire::structured
