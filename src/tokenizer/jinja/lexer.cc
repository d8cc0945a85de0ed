#include "tokenizer/jinja/lexer.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/strings.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

namespace {

// Line ends become \n, and one at the end goes.
std::string Prepare(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      out += '\n';
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::size_t SkipSpace(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint point = FirstCodePoint(text.substr(at));
    if (!unicode::IsWhiteSpace(point.code) && !(point.code >= 0x1C && point.code <= 0x1F)) break;
    at += point.length;
  }
  return at;
}

void StripRight(std::string_view& text) {
  while (!text.empty()) {
    const CodePoint point = LastCodePoint(text);
    if (!unicode::IsWhiteSpace(point.code) && !(point.code >= 0x1C && point.code <= 0x1F)) break;
    text.remove_suffix(point.length);
  }
}

constexpr std::array<std::string_view, 24> kOperators = {
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~",
    "(",  ")",  "[",  "]",  "{",  "}",  ".", ":", "|", ",", "=", "<"};

class Lexer {
 public:
  Lexer(std::string_view source, std::vector<Token>& out, SyntaxError& error)
      : source_(source), out_(out), error_(error) {}

  bool Run() {
    while (at_ < source_.size()) {
      if (!Text()) return false;
    }
    out_.push_back({.kind = Token::Kind::kEnd, .text = {}, .at = PositionOf(at_)});
    return true;
  }

 private:
  bool Fail(std::string message, std::size_t at) {
    error_ = {std::move(message), PositionOf(at)};
    return false;
  }

  // Counts on from the last place asked for; places only grow, but for errors.
  Position PositionOf(std::size_t at) {
    if (at < counted_) {
      counted_ = 0;
      place_ = {1, 1};
    }
    for (; counted_ < at && counted_ < source_.size(); ++counted_) {
      const auto byte = static_cast<unsigned char>(source_[counted_]);
      if (byte == '\n') {
        place_ = {place_.line + 1, 1};
      } else if ((byte & 0xC0) != 0x80) {
        ++place_.column;
      }
    }
    return place_;
  }

  void Push(Token::Kind kind, std::string text, std::size_t at) {
    out_.push_back({.kind = kind, .text = std::move(text), .at = PositionOf(at)});
  }

  bool Text();
  bool Tag(Token::Kind end);
  bool Comment();
  std::optional<std::size_t> RawBegin(std::size_t at) const;
  bool Raw();
  void PushText(std::string_view text, std::size_t at, char sign, bool is_print);
  std::size_t EndOfTag(std::size_t at, std::string_view mark, bool trims_line);
  bool Number();
  bool String();
  std::string Decode(std::string_view text) const;

  std::string_view source_;
  std::vector<Token>& out_;
  SyntaxError& error_;
  std::size_t at_ = 0;
  bool at_line_start_ = true;
  std::size_t counted_ = 0;
  Position place_{1, 1};  // of the byte counted_
  std::vector<char> brackets_;
};

// Text before a tag whose sign is '-' loses the white space at its end; before a block tag or a
// comment, unless its sign is '+', the white space that begins its line.
void Lexer::PushText(std::string_view text, std::size_t at, char sign, bool is_print) {
  if (sign == '-') {
    StripRight(text);
  } else if (sign != '+' && !is_print) {
    const std::size_t line = text.rfind('\n') + 1;
    if ((line > 0 || at_line_start_) && SkipSpace(text, line) == text.size()) {
      text = text.substr(0, line);
    }
  }
  if (!text.empty()) Push(Token::Kind::kText, std::string(text), at);
}

// Past the end mark of a tag at `at` (with its sign), and past the line end or white space that
// goes with it.
std::size_t Lexer::EndOfTag(std::size_t at, std::string_view mark, bool trims_line) {
  const char sign = source_[at];
  if (sign == '-' || sign == '+') ++at;
  at += mark.size();
  if (sign == '-') {
    at = SkipSpace(source_, at);
  } else if (trims_line && sign != '+' && at < source_.size() && source_[at] == '\n') {
    ++at;
  }
  at_line_start_ = source_[at - 1] == '\n';
  return at;
}

bool Lexer::Text() {
  std::size_t begin = at_;
  while (true) {
    begin = source_.find('{', begin);
    if (begin == std::string_view::npos) break;
    const char next = begin + 1 < source_.size() ? source_[begin + 1] : '\0';
    if (next == '{' || next == '%' || next == '#') break;
    ++begin;
  }
  const std::string_view text = source_.substr(at_, begin == source_.npos ? begin : begin - at_);
  if (begin == std::string_view::npos) {
    if (!text.empty()) Push(Token::Kind::kText, std::string(text), at_);
    at_ = source_.size();
    return true;
  }
  const char kind = source_[begin + 1];
  char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
  if (sign != '-' && sign != '+') sign = '\0';
  PushText(text, at_, sign, kind == '{');
  at_ = begin;
  if (kind == '#') return Comment();
  if (kind == '%' && RawBegin(begin)) return Raw();
  Push(kind == '{' ? Token::Kind::kPrintBegin : Token::Kind::kTagBegin, "", begin);
  at_ = begin + (sign == '\0' ? 2 : 3);
  return Tag(kind == '{' ? Token::Kind::kPrintEnd : Token::Kind::kTagEnd);
}

bool Lexer::Comment() {
  const std::size_t end = source_.find("#}", at_ + 2);
  if (end == std::string_view::npos) return Fail("missing end of comment tag", at_);
  const char sign = source_[end - 1];
  const bool has_sign = end - 1 >= at_ + 2 && (sign == '-' || sign == '+');
  at_ = EndOfTag(has_sign ? end - 1 : end, "#}", true);
  return true;
}

// Whether a {% raw %} stands at `at`; where its text begins.
std::optional<std::size_t> Lexer::RawBegin(std::size_t at) const {
  at += 2;
  if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
  at = SkipSpace(source_, at);
  if (!source_.substr(at).starts_with("raw")) return std::nullopt;
  at = SkipSpace(source_, at + 3);
  if (source_.substr(at).starts_with("%}")) return at + 2;
  if (source_.substr(at).starts_with("-%}")) return SkipSpace(source_, at + 3);
  return std::nullopt;
}

bool Lexer::Raw() {
  const std::size_t begin = *RawBegin(at_);
  at_line_start_ = source_[begin - 1] == '\n';
  for (std::size_t tag = source_.find("{%", begin); tag != std::string_view::npos;
       tag = source_.find("{%", tag + 2)) {
    std::size_t at = tag + 2;
    char sign = at < source_.size() ? source_[at] : '\0';
    if (sign == '-' || sign == '+') {
      ++at;
    } else {
      sign = '\0';
    }
    at = SkipSpace(source_, at);
    if (!source_.substr(at).starts_with("endraw")) continue;
    at = SkipSpace(source_, at + 6);
    const std::string_view rest = source_.substr(at);
    if (!rest.starts_with("%}") && !rest.starts_with("-%}") && !rest.starts_with("+%}")) continue;
    PushText(source_.substr(begin, tag - begin), begin, sign, false);
    at_ = EndOfTag(at, "%}", true);
    return true;
  }
  return Fail("missing end of raw directive", at_);
}

bool Lexer::Tag(Token::Kind end) {
  const std::string_view mark = end == Token::Kind::kTagEnd ? "%}" : "}}";
  brackets_.clear();
  while (true) {
    at_ = SkipSpace(source_, at_);
    if (at_ >= source_.size()) return Fail("unexpected end of template", at_);
    const std::string_view rest = source_.substr(at_);
    const bool has_minus = rest[0] == '-' && rest.substr(1).starts_with(mark);
    const bool has_plus =
        rest[0] == '+' && end == Token::Kind::kTagEnd && rest.substr(1).starts_with(mark);
    if (brackets_.empty() && (rest.starts_with(mark) || has_minus || has_plus)) {
      Push(end, "", at_);
      at_ = EndOfTag(at_, mark, end == Token::Kind::kTagEnd);
      return true;
    }
    const char c = rest[0];
    const CodePoint point = FirstCodePoint(rest);
    if (c >= '0' && c <= '9') {
      if (!Number()) return false;
    } else if (c == '"' || c == '\'') {
      if (!String()) return false;
    } else if (c == '_' || (unicode::IsWord(point.code) && !unicode::IsNumber(point.code))) {
      std::size_t stop = at_;
      while (stop < source_.size() && unicode::IsWord(FirstCodePoint(source_.substr(stop)).code)) {
        stop += FirstCodePoint(source_.substr(stop)).length;
      }
      Push(Token::Kind::kName, std::string(source_.substr(at_, stop - at_)), at_);
      at_ = stop;
    } else {
      std::string_view found;
      for (const std::string_view op : kOperators) {
        if (found.empty() && rest.starts_with(op)) found = op;
      }
      if (c == '>') found = ">";
      if (rest.starts_with(">=")) found = ">=";
      if (found.empty()) {
        return Fail(StrCat("unexpected char '", Printable(rest.substr(0, point.length)), "'"), at_);
      }
      if (c == '(' || c == '[' || c == '{')
        brackets_.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      if (c == ')' || c == ']' || c == '}') {
        if (brackets_.empty()) return Fail(StrCat("unexpected '", c, "'"), at_);
        if (brackets_.back() != c) {
          return Fail(StrCat("unexpected '", c, "', expected '", brackets_.back(), "'"), at_);
        }
        brackets_.pop_back();
      }
      Push(Token::Kind::kOperator, std::string(found), at_);
      at_ += found.size();
    }
  }
}

bool IsDigit(char c, int base) {
  const int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return value < base;
}

bool Lexer::Number() {
  const std::size_t start = at_;
  const auto digits = [&](std::size_t at, int base, std::string& out) {
    while (at < source_.size()) {
      const bool is_joint = source_[at] == '_' && !out.empty() && at + 1 < source_.size() &&
                            IsDigit(source_[at + 1], base);
      if (!is_joint && !IsDigit(source_[at], base)) break;
      if (!is_joint) out += source_[at];
      ++at;
    }
    return at;
  };
  std::string text;
  int base = 10;
  const char mark = start + 1 < source_.size() ? static_cast<char>(source_[start + 1] | 32) : '\0';
  if (source_[start] == '0') base = mark == 'x' ? 16 : mark == 'b' ? 2 : mark == 'o' ? 8 : 10;
  std::size_t at = digits(base == 10 ? start : start + 2, base, text);
  bool is_float = false;
  if (base == 10) {
    std::string fraction, exponent;
    if (at + 1 < source_.size() && source_[at] == '.' && IsDigit(source_[at + 1], 10)) {
      at = digits(at + 1, 10, fraction);
      text += "." + fraction;
      is_float = true;
    }
    if (at + 1 < source_.size() && (source_[at] | 32) == 'e') {
      const bool has_sign = source_[at + 1] == '+' || source_[at + 1] == '-';
      const std::size_t after = digits(at + 1 + has_sign, 10, exponent);
      if (!exponent.empty()) {
        text += StrCat("e", has_sign && source_[at + 1] == '-' ? "-" : "", exponent);
        at = after;
        is_float = true;
      }
    }
  }
  Token token{.kind = is_float ? Token::Kind::kFloat : Token::Kind::kInteger,
              .text = {},
              .at = PositionOf(start)};
  if (is_float) {
    token.number = std::strtod(text.c_str(), nullptr);
  } else {
    for (const char c : text) {
      const int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
      if (__builtin_mul_overflow(token.integer, Int{base}, &token.integer) ||
          __builtin_add_overflow(token.integer, Int{digit}, &token.integer)) {
        return Fail("a number is too large", start);
      }
    }
    if (text.empty()) return Fail("a number without digits", start);
  }
  out_.push_back(std::move(token));
  at_ = at;
  return true;
}

// A string's text with its escapes resolved; unknown escapes stay as they are.
std::string Lexer::Decode(std::string_view text) const {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    constexpr std::string_view kNames = "abfnrtv\\'\"", kValues = "\a\b\f\n\r\t\v\\'\"";
    const std::size_t simple = kNames.find(c);
    const int length = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    if (simple != std::string_view::npos) {
      out += kValues[simple];
    } else if (c == '\n') {
      continue;
    } else if (IsDigit(c, 8)) {
      std::size_t end = i;
      for (; end < text.size() && end < i + 3 && IsDigit(text[end], 8); ++end) {
        code = code * 8 + static_cast<std::uint32_t>(text[end] - '0');
      }
      AppendUtf8(out, code);
      i = end - 1;
    } else if (length > 0 && i + length < text.size() + 0 &&
               std::from_chars(text.data() + i + 1, text.data() + i + 1 + length, code, 16).ptr ==
                   text.data() + i + 1 + length) {
      AppendUtf8(out, code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0xFFFD : code);
      i += length;
    } else {
      out += '\\';
      out += c;
    }
  }
  return out;
}

bool Lexer::String() {
  const char quote = source_[at_];
  std::size_t end = at_ + 1;
  while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) return Fail("a string without an end", at_);
  Push(Token::Kind::kString, Decode(source_.substr(at_ + 1, end - at_ - 1)), at_);
  at_ = end + 1;
  return true;
}

}  // namespace

bool Tokenize(std::string_view source, std::vector<Token>& out, SyntaxError& error) {
  if (!IsValidUtf8(source)) {
    error = {"the template is not valid UTF-8", {1, 1}};
    return false;
  }
  const std::string prepared = Prepare(source);
  return Lexer(prepared, out, error).Run();
}

}  // namespace quire::jinja
