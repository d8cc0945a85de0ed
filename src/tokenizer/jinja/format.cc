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

}  // namespace

Result<std::string> FormatPercent(Interpreter& interpreter, std::string_view format,
                                  const Value& arguments) {
  const bool is_tuple = arguments.Is(Kind::kTuple);
  std::size_t used = 0;
  std::string out;
  const auto next = [&]() -> Result<Value> {
    if (is_tuple ? used >= arguments.items().size() : used > 0) {
      return TypeError("not enough arguments for format string");
    }
    return is_tuple ? arguments.items()[used++] : (++used, arguments);
  };
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    if (++at >= format.size()) return InvalidArgument("incomplete format");
    if (format[at] == '%') {
      out += '%';
      ++at;
      continue;
    }
    std::optional<Value> named;
    if (format[at] == '(') {
      const std::size_t end = format.find(')', at);
      if (end == std::string_view::npos) return InvalidArgument("incomplete format key");
      if (!arguments.Is(Kind::kDict)) return TypeError("format requires a mapping");
      const Value* value = arguments.Find(format.substr(at + 1, end - at - 1));
      if (value == nullptr) return InvalidArgument("format key is not in the mapping");
      named = *value;
      used = 1;
      at = end + 1;
    }
    FormatSpec spec;
    for (; at < format.size(); ++at) {
      if (format[at] == '-') {
        spec.align = '<';
      } else if (format[at] == '0' && spec.align != '<') {
        spec.fill = "0";
        spec.align = '=';
      } else if (format[at] == '+' || format[at] == ' ') {
        spec.sign = format[at];
      } else if (format[at] == '#') {
        spec.is_alternate = true;
      } else {
        break;
      }
    }
    spec.width = ReadNumber(format, at);
    if (at < format.size() && format[at] == '.') {
      ++at;
      spec.precision = ReadNumber(format, at);
    }
    if (at >= format.size()) return InvalidArgument("incomplete format");
    const char type = format[at++];
    Value value;
    if (named) {
      value = *std::move(named);
    } else {
      QUIRE_ASSIGN_OR_RETURN(value, next());
    }
    if (type == 'r') value = Value::String(Repr(value));
    if (type == 's' || type == 'r') {
      if (spec.fill == "0") spec.fill = " ";
      if (spec.align == '=') spec.align = '>';
      value = Value::String(Str(value));
    } else {
      constexpr std::string_view kTypes = "diuxXofFeEgG";
      if (kTypes.find(type) == std::string_view::npos) {
        return InvalidArgument(StrCat("unsupported format character '", type, "'"));
      }
      spec.type = type;
    }
    QUIRE_ASSIGN_OR_RETURN(const std::string text, FormatOne(value, spec, '>'));
    QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(text.size()));
    out += text;
  }
  if (is_tuple ? used < arguments.items().size() : (used == 0 && !arguments.Is(Kind::kDict))) {
    return TypeError("not all arguments converted during string formatting");
  }
  return out;
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
    QUIRE_ASSIGN_OR_RETURN(const std::string text, FormatOne(value, ParseBraceSpec(spec), '<'));
    QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(text.size()));
    out += text;
  }
  return out;
}

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

bool IsLeap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int DayOfYear(const LocalTime& time) {
  constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  return kBefore[time.month - 1] + time.day + (time.month > 2 && IsLeap(time.year) ? 1 : 0);
}

int DayOfWeek(const LocalTime& time) {  // 0: Sunday
  const int y = time.year - 1;
  return (y * 365 + y / 4 - y / 100 + y / 400 + DayOfYear(time)) % 7;
}

std::string Digits(int value, int width, char fill = '0') {
  std::string text = StrCat(value);
  while (static_cast<int>(text.size()) < width) text.insert(0, 1, fill);
  return text;
}

std::string TimeField(const LocalTime& time, char field) {
  const int hour12 = time.hour % 12 == 0 ? 12 : time.hour % 12;
  const int weekday = DayOfWeek(time);
  switch (field) {
    case 'Y':
      return Digits(time.year, 4);
    case 'y':
      return Digits(time.year % 100, 2);
    case 'C':
      return Digits(time.year / 100, 2);
    case 'm':
      return Digits(time.month, 2);
    case 'd':
      return Digits(time.day, 2);
    case 'e':
      return Digits(time.day, 2, ' ');
    case 'H':
      return Digits(time.hour, 2);
    case 'I':
      return Digits(hour12, 2);
    case 'k':
      return Digits(time.hour, 2, ' ');
    case 'l':
      return Digits(hour12, 2, ' ');
    case 'M':
      return Digits(time.minute, 2);
    case 'S':
      return Digits(time.second, 2);
    case 'f':
      return Digits(time.microsecond, 6);
    case 'j':
      return Digits(DayOfYear(time), 3);
    case 'p':
      return time.hour < 12 ? "AM" : "PM";
    case 'P':
      return time.hour < 12 ? "am" : "pm";
    case 'A':
      return std::string(kDays[weekday]);
    case 'a':
      return std::string(kDays[weekday].substr(0, 3));
    case 'B':
      return std::string(kMonths[time.month - 1]);
    case 'b':
    case 'h':
      return std::string(kMonths[time.month - 1].substr(0, 3));
    case 'w':
      return StrCat(weekday);
    case 'u':
      return StrCat(weekday == 0 ? 7 : weekday);
    case 'U':
      return Digits((DayOfYear(time) + 6 - weekday) / 7, 2);
    case 'W':
      return Digits((DayOfYear(time) + 6 - (weekday + 6) % 7) / 7, 2);
    case 'D':
      return FormatTime(time, "%m/%d/%y");
    case 'F':
      return FormatTime(time, "%Y-%m-%d");
    case 'T':
    case 'X':
      return FormatTime(time, "%H:%M:%S");
    case 'R':
      return FormatTime(time, "%H:%M");
    case 'r':
      return FormatTime(time, "%I:%M:%S %p");
    case 'x':
      return FormatTime(time, "%m/%d/%y");
    case 'c':
      return FormatTime(time, "%a %b %e %H:%M:%S %Y");
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'z':
    case 'Z':
      return "";
    case '%':
      return "%";
    default:
      return StrCat("%", field);
  }
}

}  // namespace

std::string FormatTime(const LocalTime& time, std::string_view format) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool drops_padding = format[i + 1] == '-' && i + 2 < format.size();
    if (drops_padding) ++i;
    std::string field = TimeField(time, format[++i]);
    if (drops_padding) {
      const std::size_t kept = std::min(field.find_first_not_of("0 "), field.size() - 1);
      field.erase(0, kept);
    }
    out += field;
  }
  return out;
}

}  // namespace quire::jinja
