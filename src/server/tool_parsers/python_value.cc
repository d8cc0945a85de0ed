#include "server/tool_parsers/python_value.h"

#include <array>
#include <charconv>
#include <optional>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {
namespace {

constexpr std::size_t kMaxWordBytes = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsWordByte(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '+' ||
         c == '-' || c == '.';
}

// Half of a surrogate pair stays an escape: JSON joins the halves as Python does not.
void AppendCodePoint(std::string& out, std::uint32_t code_point) {
  if (code_point < 0x80) return AppendEscaped(out, static_cast<char>(code_point));
  if (code_point >= 0xD800 && code_point < 0xE000) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) {
      out += "0123456789abcdef"[(code_point >> shift) & 15];
    }
    return;
  }
  AppendUtf8(out, code_point > 0x10FFFF ? 0xFFFD : code_point);
}

std::string_view TakeDigits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::string_view WithoutLeadingZeros(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

// 0x1F, 0o17, 0b11 as decimal digits.
std::optional<std::string> DecimalOf(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return std::nullopt;
  const char kind = static_cast<char>(text[1] | 0x20);
  const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (base == 0) return std::nullopt;
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 2, last, value, base);
  if (error != std::errc{} || end != last) return std::nullopt;
  return StrCat(value);
}

std::optional<std::string> NumberOf(std::string_view word) {
  std::string plain;
  for (const char c : word) {
    if (c != '_') plain += c;
  }
  std::string_view text = plain;
  std::string out;
  if (text.starts_with('-')) out = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (const std::optional<std::string> decimal = DecimalOf(text)) return out + *decimal;
  const std::string_view whole = TakeDigits(text);
  out += whole.empty() ? "0" : WithoutLeadingZeros(whole);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
    out += fraction.empty() ? ".0" : StrCat(".", fraction);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    out += 'e';
    if (text.starts_with('-') || text.starts_with('+')) {
      out += text.front();
      text.remove_prefix(1);
    }
    const std::string_view exponent = TakeDigits(text);
    if (exponent.empty()) return std::nullopt;
    out += exponent;
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

std::optional<std::string> JsonOf(std::string_view word) {
  if (word == "True" || word == "true") return "true";
  if (word == "False" || word == "false") return "false";
  if (word == "None" || word == "null") return "null";
  return NumberOf(word);
}

// What a letter after a backslash stands for; 0 for none of these.
char SimpleEscape(char c) {
  constexpr std::string_view kLetters = "abfnrtv";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v";
  const std::size_t at = kLetters.find(c);
  if (at != std::string_view::npos) return kMeanings[at];
  return c == '\\' || c == '\'' || c == '"' ? c : '\0';
}

}  // namespace

ReadState PythonValueReader::Put(char c, std::string& out) {
  switch (state_) {
    case State::kValue:
    case State::kValueOrClose:
    case State::kKeyOrClose:
      return PutStart(c, out);
    case State::kColon:
      if (IsJsonSpace(c)) return ReadState::kMore;
      if (c != ':') return ReadState::kBroken;
      out += ": ";
      state_ = State::kValue;
      return ReadState::kMore;
    case State::kCommaOrClose:
      return IsJsonSpace(c)         ? ReadState::kMore
             : c == closers_.back() ? Close(c, out)
                                    : PutCommaOrClose(c);
    case State::kWord:
      return PutWord(c, out);
    case State::kFirstQuote:
    case State::kSecondQuote:
      return PutQuote(c, out);
    case State::kString:
      return PutString(c, out);
    case State::kEscape:
      return PutEscape(c, out);
    case State::kDigits:
      return PutDigits(c, out);
  }
  return ReadState::kBroken;
}

ReadState PythonValueReader::PutStart(char c, std::string& out) {
  if (IsJsonSpace(c)) return ReadState::kMore;
  if (state_ != State::kValue && c == closers_.back()) return Close(c, out);
  is_key_ = state_ == State::kKeyOrClose;
  if (c == '"' || c == '\'') {
    WriteComma(out);
    out += '"';
    quote_ = c;
    is_triple_ = false;
    quote_run_ = 0;
    state_ = State::kFirstQuote;
    return ReadState::kMore;
  }
  if (IsWordByte(c)) {
    word_ = c;
    state_ = State::kWord;
    return ReadState::kMore;
  }
  return is_key_ ? ReadState::kBroken : Open(c, out);
}

ReadState PythonValueReader::Open(char c, std::string& out) {
  const bool opens = c == '[' || c == '(' || c == '{';
  if (!opens || closers_.size() == JsonValueReader::kMaxDepth) return ReadState::kBroken;
  WriteComma(out);
  out += c == '{' ? '{' : '[';
  closers_ += c == '{' ? '}' : c == '[' ? ']' : ')';
  state_ = c == '{' ? State::kKeyOrClose : State::kValueOrClose;
  return ReadState::kMore;
}

ReadState PythonValueReader::Close(char c, std::string& out) {
  out += c == '}' ? '}' : ']';
  closers_.pop_back();
  needs_comma_ = false;  // a comma before the bracket is of no meaning
  is_key_ = false;
  return EndValue();
}

ReadState PythonValueReader::PutCommaOrClose(char c) {
  if (c != ',') return ReadState::kBroken;
  needs_comma_ = true;
  state_ = closers_.back() == '}' ? State::kKeyOrClose : State::kValueOrClose;
  return ReadState::kMore;
}

void PythonValueReader::WriteComma(std::string& out) {
  if (needs_comma_) out += ", ";
  needs_comma_ = false;
}

ReadState PythonValueReader::EndValue() {
  if (is_key_) {
    state_ = State::kColon;
    return ReadState::kMore;
  }
  state_ = State::kCommaOrClose;
  return closers_.empty() ? ReadState::kDone : ReadState::kMore;
}

// The value ended before `c`, which is read again where the value is within another.
ReadState PythonValueReader::EndBefore(char c, std::string& out) {
  return EndValue() == ReadState::kDone ? ReadState::kDoneBefore : Put(c, out);
}

ReadState PythonValueReader::PutWord(char c, std::string& out) {
  if (IsWordByte(c)) {
    if (word_.size() == kMaxWordBytes) return ReadState::kBroken;
    word_ += c;
    return ReadState::kMore;
  }
  const std::optional<std::string> json = JsonOf(word_);
  if (!json.has_value()) return ReadState::kBroken;
  WriteComma(out);
  out += is_key_ ? StrCat("\"", *json, "\"") : *json;
  return EndBefore(c, out);
}

ReadState PythonValueReader::PutQuote(char c, std::string& out) {
  if (state_ == State::kFirstQuote) {
    state_ = c == quote_ ? State::kSecondQuote : State::kString;
    return c == quote_ ? ReadState::kMore : PutString(c, out);
  }
  if (c == quote_) {
    is_triple_ = true;
    state_ = State::kString;
    return ReadState::kMore;
  }
  out += '"';
  return EndBefore(c, out);
}

ReadState PythonValueReader::PutString(char c, std::string& out) {
  if (c == quote_) {
    ++quote_run_;
    return !is_triple_ || quote_run_ == 3 ? EndString(out) : ReadState::kMore;
  }
  for (; quote_run_ > 0; --quote_run_) AppendEscaped(out, quote_);
  if (c == '\\') {
    state_ = State::kEscape;
  } else {
    AppendEscaped(out, c);
  }
  return ReadState::kMore;
}

ReadState PythonValueReader::EndString(std::string& out) {
  out += '"';
  return EndValue();
}

ReadState PythonValueReader::PutEscape(char c, std::string& out) {
  state_ = State::kString;
  if (const char meaning = SimpleEscape(c); meaning != '\0') {
    AppendCodePoint(out, static_cast<std::uint32_t>(meaning));
  } else if (c == 'x' || c == 'u' || c == 'U') {
    BeginDigits(c, c == 'x' ? 2 : c == 'u' ? 4 : 8);
  } else if (c >= '0' && c <= '7') {
    BeginDigits('o', 3);
    digits_ = c;
  } else if (c != '\n') {  // a backslash at the end of a line joins it with the next
    out += "\\\\";
    AppendEscaped(out, c);
  }
  return ReadState::kMore;
}

void PythonValueReader::BeginDigits(char kind, int max_digits) {
  state_ = State::kDigits;
  digits_kind_ = kind;
  max_digits_ = max_digits;
  digits_.clear();
}

ReadState PythonValueReader::PutDigits(char c, std::string& out) {
  const bool is_hex = IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  const bool is_digit = digits_kind_ == 'o' ? c >= '0' && c <= '7' : is_hex;
  if (is_digit) digits_ += c;
  const bool is_full = static_cast<int>(digits_.size()) == max_digits_;
  if (is_digit && !is_full) return ReadState::kMore;
  EndDigits(out);
  state_ = State::kString;
  return is_digit ? ReadState::kMore : PutString(c, out);
}

// An escape with too few digits stands for itself.
void PythonValueReader::EndDigits(std::string& out) {
  const bool is_octal = digits_kind_ == 'o';
  if (!is_octal && static_cast<int>(digits_.size()) < max_digits_) {
    out += StrCat("\\\\", digits_kind_, digits_);
    return;
  }
  std::uint32_t code_point = 0;
  std::from_chars(digits_.data(), digits_.data() + digits_.size(), code_point, is_octal ? 8 : 16);
  AppendCodePoint(out, code_point);
}

}  // namespace quire
