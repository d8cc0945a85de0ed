// Filters on single values, and how filters are found.
#include "tokenizer/jinja/filters.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/strings.h"
#include "tokenizer/jinja/parser.h"

namespace quire::jinja {

namespace {

Result<Value> Default(const FilterCall& call) {
  const Value* fallback = call.Argument(0, "default_value");
  const bool on_false = BoolArgument(call.arguments, 1, "boolean", false);
  if (call.input.Is(Kind::kUndefined) || (on_false && !IsTrue(call.input))) {
    return fallback == nullptr ? Value::String("") : *fallback;
  }
  return call.input;
}

// A text as an integer, with sign, blanks and underscores; nullopt where it is none.
std::optional<Int> ParseInt(std::string_view text, int base) {
  text = Strip(text, std::nullopt, true, true);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const auto has_mark = [&](char mark) {
    return text.size() > 2 && text[0] == '0' && (text[1] | 32) == mark;
  };
  const bool is_marked = (has_mark('x') && (base == 16 || base == 0)) ||
                         (has_mark('o') && (base == 8 || base == 0)) ||
                         (has_mark('b') && (base == 2 || base == 0));
  if (is_marked && base == 0) base = has_mark('x') ? 16 : has_mark('o') ? 8 : 2;
  if (is_marked) text.remove_prefix(2);
  if (base == 0) base = 10;
  if (text.empty()) return std::nullopt;
  Int value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_') continue;
    const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' ? (c | 32) - 'a' + 10 : 99;
    if (digit >= base || __builtin_mul_overflow(value, Int{base}, &value) ||
        __builtin_add_overflow(value, Int{digit}, &value)) {
      return std::nullopt;
    }
  }
  return is_negative ? -value : value;
}

std::optional<double> ParseFloat(std::string_view text) {
  std::string digits;
  for (const char c : Strip(text, std::nullopt, true, true)) {
    if (c != '_') digits += c;
  }
  if (digits.empty() || digits.find_first_of("xX") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return value;
}

Result<Value> ToInt(const FilterCall& call) {
  const Value* given = call.Argument(0, "default");
  const Value fallback = given == nullptr ? Value::Integer(0) : *given;
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t base, IntArgument(call.arguments, 1, "base", 10));
  if (call.input.Is(Kind::kUndefined)) return fallback;
  if (call.input.Is(Kind::kString)) {
    if (const auto value = ParseInt(call.input.text(), static_cast<int>(base))) {
      return Value::Integer(*value);
    }
    const auto number = ParseFloat(call.input.text());
    if (number && std::abs(*number) < 1e37) return Value::Integer(static_cast<Int>(*number));
    return fallback;
  }
  if (call.input.Is(Kind::kFloat)) {
    if (!(std::abs(call.input.number()) < 1e37)) return fallback;
    return Value::Integer(static_cast<Int>(call.input.number()));
  }
  return call.input.is_number() ? Value::Integer(call.input.integer()) : fallback;
}

Result<Value> ToFloat(const FilterCall& call) {
  const Value* given = call.Argument(0, "default");
  const Value fallback = given == nullptr ? Value::Float(0) : *given;
  if (call.input.is_number()) return Value::Float(call.input.number());
  if (call.input.Is(Kind::kString)) {
    if (const auto value = ParseFloat(call.input.text())) return Value::Float(*value);
  }
  return fallback;
}

Result<Value> Abs(const FilterCall& call) {
  if (call.input.Is(Kind::kFloat)) return Value::Float(std::abs(call.input.number()));
  if (!call.input.is_number()) {
    return TypeError(StrCat("bad operand type for abs(): '", TypeName(call.input), "'"));
  }
  return Value::Integer(call.input.integer() < 0 ? -call.input.integer() : call.input.integer());
}

// Half to even at a number of decimals, as Python rounds: by the exact decimal value.
double RoundHalfEven(double value, int precision) {
  if (precision > 300 || !std::isfinite(value)) return value;
  if (precision < 0) {
    const double scale = std::pow(10.0, -precision);
    return std::nearbyint(value / scale) * scale;
  }
  char buffer[800];
  std::snprintf(buffer, sizeof buffer, "%.*f", precision, value);
  return std::strtod(buffer, nullptr);
}

Result<Value> Round(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t precision,
                         IntArgument(call.arguments, 0, "precision", 0));
  QUIRE_ASSIGN_OR_RETURN(const std::string method,
                         TextArgument(call.arguments, 1, "method", "common"));
  if (!call.input.is_number()) {
    return TypeError(StrCat("type ", TypeName(call.input), " doesn't define __round__ method"));
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return InvalidArgument("method must be common, ceil or floor");
  }
  const int digits = static_cast<int>(std::clamp<std::int64_t>(precision, -300, 300));
  const bool is_int = !call.input.Is(Kind::kFloat);
  if (method == "common") {
    const double rounded = RoundHalfEven(call.input.number(), digits);
    return is_int ? Value::Integer(digits >= 0 ? call.input.integer() : static_cast<Int>(rounded))
                  : Value::Float(rounded);
  }
  const double scale = std::pow(10.0, digits);
  const double scaled = call.input.number() * scale;
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> ToString(const FilterCall& call) {
  if (call.input.Is(Kind::kString)) return call.input;
  std::string text = call.Text();
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(text.size()));
  return Value::String(std::move(text));
}

Result<Value> Attr(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::string name, TextArgument(call.arguments, 0, "name", ""));
  if (call.input.Is(Kind::kUndefined)) return InvalidArgument(call.input.text());
  if (std::optional<Value> value = FindMethod(call.input, name)) return *std::move(value);
  return Value::Undefined(StrCat("no attribute '", name, "'"));
}

Result<Value> ToJsonFilter(const FilterCall& call) {
  JsonStyle style;
  const Value* indent = call.Argument(1, "indent");
  const Value* ensure_ascii = call.Argument(0, "ensure_ascii");
  style.ensure_ascii = ensure_ascii != nullptr && IsTrue(*ensure_ascii);
  if (indent != nullptr && indent->Is(Kind::kInt)) {
    style.indent = static_cast<int>(std::clamp<Int>(indent->integer(), 0, 64));
  }
  style.sort_keys = BoolArgument(call.arguments, 3, "sort_keys", false);
  if (const Value* separators = call.Argument(2, "separators");
      separators != nullptr && !separators->Is(Kind::kNone)) {
    QUIRE_ASSIGN_OR_RETURN(const Items pair, Iterate(*separators));
    if (pair.size() != 2 || !pair[0].Is(Kind::kString) || !pair[1].Is(Kind::kString)) {
      return TypeError("separators must be two texts");
    }
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  }
  QUIRE_ASSIGN_OR_RETURN(std::string text, ToJson(call.input, style));
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(text.size()));
  return Value::String(std::move(text));
}

Result<Value> FileSize(const FilterCall& call) {
  const bool is_binary = BoolArgument(call.arguments, 0, "binary", false);
  std::optional<double> bytes;
  if (call.input.is_number()) bytes = call.input.number();
  if (call.input.Is(Kind::kString)) bytes = ParseFloat(call.input.text());
  if (!bytes) return TypeError("a number is required");
  const double base = is_binary ? 1024 : 1000;
  constexpr std::string_view kUnits = "kMGTPEZY";
  if (*bytes == 1) return Value::String("1 Byte");
  if (*bytes < base) return Value::String(StrCat(static_cast<std::int64_t>(*bytes), " Bytes"));
  double unit = base;
  std::size_t i = 0;
  while (i + 1 < kUnits.size() && *bytes >= unit * base) {
    unit *= base;
    ++i;
  }
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.1f ", *bytes / unit);
  const char letter = is_binary && i == 0 ? 'K' : kUnits[i];
  return Value::String(StrCat(buffer, letter, is_binary ? "iB" : "B"));
}

constexpr NamedFilter kFilters[] = {
    {"default", Default},         {"d", Default}, {"int", ToInt},
    {"float", ToFloat},           {"abs", Abs},   {"round", Round},
    {"string", ToString},         {"attr", Attr}, {"tojson", ToJsonFilter},
    {"filesizeformat", FileSize},
};

const NamedFilter* FindFilter(std::string_view name) {
  for (const auto table : {ValueFilters(), TextFilters(), SequenceFilters(), SelectFilters()}) {
    for (const NamedFilter& filter : table) {
      if (filter.name == name) return &filter;
    }
  }
  return nullptr;
}

}  // namespace

std::span<const NamedFilter> ValueFilters() { return kFilters; }

bool HasFilter(std::string_view name) { return FindFilter(name) != nullptr; }

Result<Items> FilterCall::Iterate() const {
  QUIRE_ASSIGN_OR_RETURN(Items items, jinja::Iterate(input));
  QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(items.size() * sizeof(Value)));
  return items;
}

Result<Value> Interpreter::ApplyFilter(const std::string& name, const Value& input,
                                       const Arguments& arguments) {
  const NamedFilter* filter = FindFilter(name);
  if (filter == nullptr) return InvalidArgument(StrCat("no filter named '", Printable(name), "'"));
  QUIRE_RETURN_IF_ERROR(Spend(1));
  return filter->apply({*this, input, arguments});
}

Result<Value> FollowAttribute(Interpreter& interpreter, const Value& item, const Value* attribute) {
  if (attribute == nullptr || attribute->Is(Kind::kNone)) return item;
  if (!attribute->Is(Kind::kString)) return interpreter.Item(item, *attribute);
  Value value = item;
  for (const std::string_view part : Split(attribute->text(), '.')) {
    const auto index = ParseNumber<std::int64_t>(part);
    QUIRE_ASSIGN_OR_RETURN(
        value,
        interpreter.Item(value, index ? Value::Integer(*index) : Value::String(std::string(part))));
  }
  return value;
}

Value SortKey(const Value& value, bool is_case_sensitive) {
  if (is_case_sensitive || !value.Is(Kind::kString)) return value;
  return Value::String(Lower(value.text()));
}

}  // namespace quire::jinja
