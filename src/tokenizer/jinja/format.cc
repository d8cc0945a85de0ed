// Python's % formatting, str.format and strftime.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

namespace {

constexpr int kMaxWidth = 10'000;

// What stands between % or : and the type letter.
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';
  bool is_alternate = false, has_comma = false;
  int width = 0;
  int precision = -1;
  char type = '\0';
};

std::string Pad(std::string text, const FormatSpec& spec, char usual_align) {
  const std::int64_t missing = spec.width - LengthOf(text);
  if (missing <= 0) return text;
  const char align = spec.align == '\0' ? usual_align : spec.align;
  const std::int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  std::string_view body = text;
  if (align == '=' && !body.empty() && (body[0] == '-' || body[0] == '+' || body[0] == ' ')) {
    out += body[0];
    body.remove_prefix(1);
  }
  for (std::int64_t i = 0; i < left; ++i) out += spec.fill;
  out += body;
  for (std::int64_t i = left; i < missing; ++i) out += spec.fill;
  return out;
}

void AddCommas(std::string& digits) {
  std::size_t end = digits.find_first_of(".e");
  if (end == std::string::npos) end = digits.size();
  const std::size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  for (std::size_t at = end; at > first + 3; at -= 3) digits.insert(at - 3, ",");
}

void AddSign(std::string& text, char sign) {
  if (sign != '-' && !text.starts_with('-')) text.insert(0, 1, sign);
}

std::string FloatText(double value, char type, int precision, bool is_alternate) {
  const std::string format = StrCat("%", is_alternate ? "#" : "", ".*", type);
  std::array<char, 512> buffer;
  const int size = std::snprintf(buffer.data(), buffer.size(), format.c_str(),
                                 std::clamp(precision, 0, 100), value);
  return std::string(buffer.data(), std::min<std::size_t>(size, buffer.size() - 1));
}

std::string IntText(Int value, char type, bool is_alternate) {
  if (type == 'd' || type == '\0') return FormatInt(value);
  const unsigned base = type == 'o' ? 8 : type == 'b' ? 2 : 16;
  auto rest = static_cast<unsigned __int128>(value < 0 ? -value : value);
  std::string digits;
  do {
    digits.insert(0, 1, "0123456789abcdef"[static_cast<unsigned>(rest % base)]);
    rest /= base;
  } while (rest > 0);
  if (type == 'X') digits = Upper(digits);
  if (is_alternate) digits = StrCat("0", type, digits);
  return value < 0 ? "-" + digits : digits;
}

// A number or text by its spec; `text_align`: where text goes that has no alignment of its own.
Result<std::string> FormatOne(const Value& value, const FormatSpec& spec, char text_align) {
  const char type = spec.type;
  const bool is_float_type = type == 'f' || type == 'F' || type == 'e' || type == 'E' ||
                             type == 'g' || type == 'G' || type == '%';
  const bool is_int_type = type == 'd' || type == 'i' || type == 'u' || type == 'x' ||
                           type == 'X' || type == 'o' || type == 'b';
  std::string text;
  if (is_float_type || is_int_type) {
    if (!value.is_number()) {
      return TypeError(StrCat("%", type, " format: a number is required, not ", TypeName(value)));
    }
    if (is_float_type) {
      const double number = type == '%' ? value.number() * 100 : value.number();
      text = FloatText(number, type == '%' ? 'f' : type, spec.precision < 0 ? 6 : spec.precision,
                       spec.is_alternate);
      if (type == '%') text += '%';
    } else {
      Int number = value.Is(Kind::kFloat) ? static_cast<Int>(value.number()) : value.integer();
      text = IntText(number, type == 'i' || type == 'u' ? 'd' : type, spec.is_alternate);
    }
    if (spec.has_comma) AddCommas(text);
    AddSign(text, spec.sign);
    return Pad(std::move(text), spec, '>');
  }
  const bool is_plain_number = value.is_number() && !value.Is(Kind::kBool);
  text = Str(value);
  if (is_plain_number && spec.has_comma) AddCommas(text);
  if (is_plain_number) AddSign(text, spec.sign);
  if (spec.precision >= 0 && !is_plain_number) {
    std::string_view rest = text;
    for (int i = 0; i < spec.precision && !rest.empty(); ++i)
      rest.remove_prefix(ReadUtf8(rest).length);
    text.resize(text.size() - rest.size());
  }
  return Pad(std::move(text), spec, is_plain_number ? '>' : text_align);
}

// Reads digits as a number up to kMaxWidth.
int ReadNumber(std::string_view text, std::size_t& at) {
  int value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = std::min(kMaxWidth, value * 10 + (text[at] - '0'));
  }
  return value;
}

FormatSpec ParseBraceSpec(std::string_view text) {
  FormatSpec spec;
  std::size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const int first = text.empty() ? 0 : ReadUtf8(text).length;
  if (static_cast<std::size_t>(first) < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    at = 1;
  }
  if (at < text.size() && (text[at] == '+' || text[at] == ' ' || text[at] == '-')) {
    spec.sign = text[at++];
  }
  if (at < text.size() && text[at] == '#') {
    spec.is_alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = ReadNumber(text, at);
  if (at < text.size() && text[at] == ',') {
    spec.has_comma = true;
    ++at;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    spec.precision = ReadNumber(text, at);
  }
  if (at < text.size()) spec.type = text[at] == 's' ? '\0' : text[at];
  return spec;
}

// The operator % of strings: goes through the format and takes the arguments one by one.
class PercentFormatter {
 public:
  PercentFormatter(Interpreter& interpreter, std::string_view format, const Value& arguments)
      : interpreter_(interpreter),
        format_(format),
        arguments_(arguments),
        is_tuple_(arguments.Is(Kind::kTuple)) {}

  Result<std::string> Format();

 private:
  Status FormatField();
  Result<Value> NextArgument();
  Result<std::optional<Value>> ReadKey();
  FormatSpec ReadSpec();

  Interpreter& interpreter_;
  std::string_view format_;
  const Value& arguments_;
  bool is_tuple_;
  std::size_t at_ = 0;    // in the format
  std::size_t used_ = 0;  // arguments
  std::string out_;
};

Result<std::string> PercentFormatter::Format() {
  while (at_ < format_.size()) {
    if (format_[at_] != '%') {
      out_ += format_[at_++];
      continue;
    }
    if (++at_ >= format_.size()) return InvalidArgument("incomplete format");
    if (format_[at_] == '%') {
      out_ += format_[at_++];
    } else {
      QUIRE_RETURN_IF_ERROR(FormatField());
    }
  }
  const bool has_more =
      is_tuple_ ? used_ < arguments_.items().size() : used_ == 0 && !arguments_.Is(Kind::kDict);
  if (has_more) return TypeError("not all arguments converted during string formatting");
  return std::move(out_);
}

Result<Value> PercentFormatter::NextArgument() {
  if (is_tuple_ ? used_ >= arguments_.items().size() : used_ > 0) {
    return TypeError("not enough arguments for format string");
  }
  return is_tuple_ ? arguments_.items()[used_++] : (++used_, arguments_);
}

// The value of "(key)" at hand; nullopt where there is no key.
Result<std::optional<Value>> PercentFormatter::ReadKey() {
  if (format_[at_] != '(') return std::optional<Value>();
  const std::size_t end = format_.find(')', at_);
  if (end == std::string_view::npos) return InvalidArgument("incomplete format key");
  if (!arguments_.Is(Kind::kDict)) return TypeError("format requires a mapping");
  const Value* value = arguments_.Find(format_.substr(at_ + 1, end - at_ - 1));
  if (value == nullptr) return InvalidArgument("format key is not in the mapping");
  used_ = 1;
  at_ = end + 1;
  return std::optional<Value>(*value);
}

// Flags, width and precision.
FormatSpec PercentFormatter::ReadSpec() {
  FormatSpec spec;
  for (; at_ < format_.size(); ++at_) {
    const char c = format_[at_];
    if (c == '-') {
      spec.align = '<';
    } else if (c == '0' && spec.align != '<') {
      spec.fill = "0";
      spec.align = '=';
    } else if (c == '+' || c == ' ') {
      spec.sign = c;
    } else if (c == '#') {
      spec.is_alternate = true;
    } else {
      break;
    }
  }
  spec.width = ReadNumber(format_, at_);
  if (at_ < format_.size() && format_[at_] == '.') {
    ++at_;
    spec.precision = ReadNumber(format_, at_);
  }
  return spec;
}

// What stands behind a percent sign.
Status PercentFormatter::FormatField() {
  QUIRE_ASSIGN_OR_RETURN(std::optional<Value> named, ReadKey());
  FormatSpec spec = ReadSpec();
  if (at_ >= format_.size()) return InvalidArgument("incomplete format");
  const char type = format_[at_++];
  Value value;
  if (named) {
    value = *std::move(named);
  } else {
    QUIRE_ASSIGN_OR_RETURN(value, NextArgument());
  }
  if (type == 's' || type == 'r') {
    if (spec.fill == "0") spec.fill = " ";
    if (spec.align == '=') spec.align = '>';
    value = Value::String(type == 'r' ? Repr(value) : Str(value));
  } else {
    constexpr std::string_view kTypes = "diuxXofFeEgG";
    if (kTypes.find(type) == std::string_view::npos) {
      return InvalidArgument(StrCat("unsupported format character '", type, "'"));
    }
    spec.type = type;
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string text, FormatOne(value, spec, '>'));
  QUIRE_RETURN_IF_ERROR(interpreter_.SpendBytes(text.size()));
  out_ += text;
  return {};
}

}  // namespace

Result<std::string> FormatPercent(Interpreter& interpreter, std::string_view format,
                                  const Value& arguments) {
  return PercentFormatter(interpreter, format, arguments).Format();
}

namespace {

// A field "name.attribute[key]" of str.format; `next_index` numbers those without a name.
Result<Value> FindField(Interpreter& interpreter, std::string_view field,
                        const Arguments& arguments, std::size_t& next_index) {
  const std::size_t end = std::min(field.find_first_of(".["), field.size());
  const std::string_view name = field.substr(0, end);
  Value value;
  const auto index = name.empty() ? std::optional(next_index++) : ParseNumber<std::size_t>(name);
  if (index) {
    if (*index >= arguments.positional.size()) {
      return InvalidArgument("replacement index out of range for positional args");
    }
    value = arguments.positional[*index];
  } else {
    const Value* named = arguments.Named(name);
    if (named == nullptr)
      return InvalidArgument(StrCat("no argument named '", Printable(name), "'"));
    value = *named;
  }
  std::string_view rest = field.substr(end);
  while (!rest.empty()) {
    const bool is_key = rest[0] == '[';
    const std::size_t stop =
        is_key ? rest.find(']') : std::min(rest.find_first_of(".[", 1), rest.size());
    if (stop == std::string_view::npos) return InvalidArgument("missing ']' in format string");
    const std::string key(rest.substr(1, stop - 1));
    const auto number = ParseNumber<std::int64_t>(key);
    QUIRE_ASSIGN_OR_RETURN(value, !is_key  ? interpreter.Attribute(value, key)
                                  : number ? interpreter.Item(value, Value::Integer(*number))
                                           : interpreter.Item(value, Value::String(key)));
    rest.remove_prefix(is_key ? stop + 1 : stop);
  }
  return value;
}

}  // namespace

Result<std::string> FormatBraces(Interpreter& interpreter, std::string_view format,
                                 const Arguments& arguments) {
  std::string out;
  std::size_t next_index = 0;
  for (std::size_t at = 0; at < format.size();) {
    const char c = format[at];
    if ((c == '{' || c == '}') && at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      at += 2;
      continue;
    }
    if (c == '}') return InvalidArgument("single '}' encountered in format string");
    if (c != '{') {
      out += c;
      ++at;
      continue;
    }
    const std::size_t end = format.find('}', at);
    if (end == std::string_view::npos) {
      return InvalidArgument("expected '}' before end of string");
    }
    const std::string_view inside = format.substr(at + 1, end - at - 1);
    at = end + 1;
    const std::size_t mark = std::min(inside.find_first_of("!:"), inside.size());
    QUIRE_ASSIGN_OR_RETURN(Value value,
                           FindField(interpreter, inside.substr(0, mark), arguments, next_index));
    std::string_view spec = inside.substr(mark);
    if (spec.starts_with("!r")) value = Value::String(Repr(value));
    if (spec.starts_with('!')) spec.remove_prefix(std::min<std::size_t>(2, spec.size()));
    if (spec.starts_with(':')) spec.remove_prefix(1);
    // With a format a boolean is the number it is.
    if (value.Is(Kind::kBool) && !spec.empty()) value = Value::Integer(value.integer());
    QUIRE_ASSIGN_OR_RETURN(const std::string text, FormatOne(value, ParseBraceSpec(spec), '<'));
    QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(text.size()));
    out += text;
  }
  return out;
}

}  // namespace quire::jinja
