// How values read: Python's str() and repr(), and JSON.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "tokenizer/jinja/value.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

namespace {

std::string Hex(std::uint32_t value, int digits) {
  std::string out;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[value >> shift & 15];
  }
  return out;
}

bool IsPrintable(char32_t code) {
  using unicode::Category;
  if (code == ' ') return true;
  constexpr unicode::CategorySet kHidden =
      unicode::kOther | unicode::SetOf(Category::kZs, Category::kZp);
  return !unicode::IsIn(code, kHidden);
}

void AppendStringRepr(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const Utf8Step step = ReadUtf8(text);
    const char32_t code =
        step.kind == Utf8Step::Kind::kValid ? FirstCodePoint(text).code : char32_t{0xFFFD};
    if (code == static_cast<char32_t>(quote) || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (IsPrintable(code)) {
      out += text.substr(0, step.length);
    } else if (code < 0x100) {
      out += "\\x" + Hex(code, 2);
    } else {
      out += code < 0x10000 ? "\\u" + Hex(code, 4) : "\\U" + Hex(code, 8);
    }
    text.remove_prefix(step.length);
  }
  out += quote;
}

void AppendRepr(std::string& out, const Value& value);

void AppendItems(std::string& out, const Items& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    AppendRepr(out, items[i]);
  }
}

void AppendDict(std::string& out, const Value& dict) {
  out += '{';
  bool is_first = true;
  for (const auto& [key, item] : dict.pairs()) {
    if (!is_first) out += ", ";
    is_first = false;
    AppendRepr(out, key);
    out += ": ";
    AppendRepr(out, item);
  }
  out += '}';
}

void AppendNamespace(std::string& out, const Value& value) {
  out += "<Namespace {";
  bool is_first = true;
  for (const auto& [name, item] : value.names()) {
    if (!is_first) out += ", ";
    is_first = false;
    AppendStringRepr(out, name);
    out += ": ";
    // A namespace may hold itself, by way of a list.
    const bool is_plain = item.nesting() == 0 && !item.Is(Kind::kNamespace);
    out += is_plain ? Repr(item) : "...";
  }
  out += "}>";
}

void AppendRepr(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      out += "Undefined";
      return;
    case Kind::kNone:
      out += "None";
      return;
    case Kind::kBool:
      out += value.boolean() ? "True" : "False";
      return;
    case Kind::kInt:
      out += FormatInt(value.integer());
      return;
    case Kind::kFloat:
      out += FormatFloat(value.number());
      return;
    case Kind::kString:
      if (value.is_safe()) out += "Markup(";
      AppendStringRepr(out, value.text());
      if (value.is_safe()) out += ')';
      return;
    case Kind::kList:
      out += '[';
      AppendItems(out, value.items());
      out += ']';
      return;
    case Kind::kTuple:
      out += '(';
      AppendItems(out, value.items());
      out += value.items().size() == 1 ? ",)" : ")";
      return;
    case Kind::kDict:
      return AppendDict(out, value);
    case Kind::kRange:
      out += value.label();
      return;
    case Kind::kView:
      out += value.label() + "([";
      AppendItems(out, value.items());
      out += "])";
      return;
    case Kind::kIterator:
      out += "<generator object>";
      return;
    case Kind::kNamespace:
      return AppendNamespace(out, value);
    case Kind::kCallable:
      out += value.callable().Show();
      return;
    case Kind::kObject:
      out += value.object().Show();
      return;
  }
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {
    item_separator_ = !style.item_separator.empty() ? style.item_separator
                      : style.indent >= 0           ? ","
                                                    : ", ";
    key_separator_ = !style.key_separator.empty() ? style.key_separator : ": ";
  }

  Status Write(const Value& value, int depth) {
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "null";
        return {};
      case Kind::kBool:
        out_ += value.boolean() ? "true" : "false";
        return {};
      case Kind::kInt:
        out_ += FormatInt(value.integer());
        return {};
      case Kind::kFloat:
        WriteFloat(value.number());
        return {};
      case Kind::kString:
        WriteString(value.text());
        return {};
      case Kind::kList:
      case Kind::kTuple:
        return WriteList(value.items(), depth);
      case Kind::kDict:
        return WriteDict(value, depth);
      default:
        return TypeError(StrCat("Object of type ", TypeName(value), " is not JSON serializable"));
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void WriteFloat(double value) {
    if (std::isnan(value)) {
      out_ += "NaN";
    } else if (std::isinf(value)) {
      out_ += value < 0 ? "-Infinity" : "Infinity";
    } else {
      out_ += FormatFloat(value);
    }
  }

  void WriteEscape(char32_t code) {
    if (code >= 0x10000) {
      const char32_t rest = code - 0x10000;
      out_ += "\\u" + Hex(0xD800 + (rest >> 10), 4) + "\\u" + Hex(0xDC00 + (rest & 0x3FF), 4);
    } else {
      out_ += "\\u" + Hex(code, 4);
    }
  }

  void WriteString(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const Utf8Step step = ReadUtf8(text);
      const char32_t code =
          step.kind == Utf8Step::Kind::kValid ? FirstCodePoint(text).code : char32_t{0xFFFD};
      constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
      const std::size_t at = code < 128 ? kShort.find(static_cast<char>(code)) : kShort.npos;
      if (at != kShort.npos) {
        out_ += '\\';
        out_ += kLetters[at];
      } else if (code < 32 || (style_.ensure_ascii && code > 126)) {
        WriteEscape(code);
      } else {
        out_ += text.substr(0, step.length);
      }
      text.remove_prefix(step.length);
    }
    out_ += '"';
  }

  void BreakLine(int depth) {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(style_.indent) * depth, ' ');
  }

  Status WriteList(const Items& items, int depth) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += item_separator_;
      BreakLine(depth + 1);
      QUIRE_RETURN_IF_ERROR(Write(items[i], depth + 1));
    }
    if (!items.empty()) BreakLine(depth);
    out_ += ']';
    return {};
  }

  Status WriteKey(const Value& key) {
    if (key.Is(Kind::kString)) {
      WriteString(key.text());
      return {};
    }
    if (!key.is_number() && !key.Is(Kind::kNone)) {
      return TypeError(StrCat("keys must be str, int, float, bool or None, not ", TypeName(key)));
    }
    out_ += '"';
    QUIRE_RETURN_IF_ERROR(Write(key, 0));
    out_ += '"';
    return {};
  }

  Status WriteDict(const Value& dict, int depth) {
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& pair : dict.pairs()) order.push_back(&pair);
    if (style_.sort_keys) QUIRE_RETURN_IF_ERROR(SortKeys(order));
    out_ += '{';
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out_ += item_separator_;
      BreakLine(depth + 1);
      QUIRE_RETURN_IF_ERROR(WriteKey(order[i]->first));
      out_ += key_separator_;
      QUIRE_RETURN_IF_ERROR(Write(order[i]->second, depth + 1));
    }
    if (!order.empty()) BreakLine(depth);
    out_ += '}';
    return {};
  }

  static Status SortKeys(std::vector<const std::pair<Value, Value>*>& order) {
    Status status;
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
      const Result<bool> less = Less(a->first, b->first);
      if (!less.ok()) status = less.status();
      return less.ok() && *less;
    });
    return status;
  }

  const JsonStyle& style_;
  std::string item_separator_, key_separator_, out_;
};

}  // namespace

std::string FormatInt(Int value) {
  const bool is_negative = value < 0;
  auto rest = static_cast<unsigned __int128>(value);
  if (is_negative) rest = -rest;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest > 0);
  if (is_negative) digits += '-';
  return std::string(digits.rbegin(), digits.rend());
}

std::string FormatFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view scientific(buffer, end.ptr - buffer);
  const std::size_t e = scientific.find('e');
  const int exponent = std::stoi(std::string(scientific.substr(e + 1)));
  if (exponent >= 16 || exponent < -4) return std::string(scientific);
  char fixed[400];
  end = std::to_chars(fixed, fixed + sizeof fixed, value, std::chars_format::fixed);
  std::string out(fixed, end.ptr);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string Repr(const Value& value) {
  std::string out;
  AppendRepr(out, value);
  return out;
}

std::string Str(const Value& value) {
  if (value.Is(Kind::kString)) return value.text();
  if (value.Is(Kind::kUndefined)) return {};
  return Repr(value);
}

Result<std::string> ToJson(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  QUIRE_RETURN_IF_ERROR(writer.Write(value, 0));
  return writer.Take();
}

}  // namespace quire::jinja
