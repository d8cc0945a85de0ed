// Functions on texts that methods and filters share.
#include <algorithm>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

namespace {

bool IsSpace(char32_t code) {
  return unicode::IsWhiteSpace(code) || (code >= 0x1C && code <= 0x1F);
}

// Whether a capital sigma at `at` ends a word: a cased letter before it and none after it.
bool EndsWord(const std::u32string& codes, std::size_t at) {
  std::size_t before = at;
  while (before > 0 && unicode::IsCaseIgnorable(codes[before - 1])) --before;
  if (before == 0 || !unicode::IsCased(codes[before - 1])) return false;
  std::size_t after = at + 1;
  while (after < codes.size() && unicode::IsCaseIgnorable(codes[after])) ++after;
  return after == codes.size() || !unicode::IsCased(codes[after]);
}

std::u32string CodesOf(std::string_view text) {
  std::string valid;
  AppendLossy(valid, text);
  return ToCodePoints(valid);
}

}  // namespace

std::int64_t LengthOf(std::string_view text) {
  return static_cast<std::int64_t>(CountCodePoints(text));
}

std::string Lower(std::string_view text) {
  std::string out;
  const std::u32string codes = CodesOf(text);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == 0x3A3) {
      AppendUtf8(out, EndsWord(codes, i) ? 0x3C2 : 0x3C3);
    } else {
      unicode::AppendLower(out, codes[i]);
    }
  }
  return out;
}

std::string Upper(std::string_view text) {
  std::string out;
  for (const char32_t code : CodesOf(text)) unicode::AppendUpper(out, code);
  return out;
}

std::string Capitalize(std::string_view text) {
  if (text.empty()) return {};
  const auto length = static_cast<std::size_t>(ReadUtf8(text).length);
  std::string out;
  unicode::AppendTitle(out, CodesOf(text.substr(0, length))[0]);
  // The rest is lowered as part of the whole, where a sigma may end a word.
  const std::string lowered = Lower(text);
  const std::string first = Lower(text.substr(0, length));
  return out + lowered.substr(std::min(first.size(), lowered.size()));
}

// Words begin after blanks, hyphens and opening brackets.
std::string TitleWords(std::string_view text) {
  std::string out;
  std::size_t start = 0;
  const auto flush = [&](std::size_t end) {
    if (end == start) return;
    const std::string_view word = text.substr(start, end - start);
    const auto length = static_cast<std::size_t>(ReadUtf8(word).length);
    out += Upper(word.substr(0, length));
    out += Lower(word.substr(length));
  };
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = ReadUtf8(text.substr(at));
    const char32_t code = step.kind == Utf8Step::Kind::kValid ? FirstCodePoint(text.substr(at)).code
                                                              : char32_t{0xFFFD};
    const bool splits =
        IsSpace(code) || code == '-' || code == '(' || code == '{' || code == '[' || code == '<';
    if (splits) {
      flush(at);
      out += text.substr(at, step.length);
      start = at + step.length;
    }
    at += step.length;
  }
  flush(text.size());
  return out;
}

std::string_view Strip(std::string_view text, std::optional<std::string_view> characters, bool left,
                       bool right) {
  const std::u32string set = characters ? CodesOf(*characters) : std::u32string();
  const auto goes = [&](char32_t code) {
    return characters ? set.find(code) != std::u32string::npos : IsSpace(code);
  };
  while (left && !text.empty() && goes(FirstCodePoint(text).code)) {
    text.remove_prefix(FirstCodePoint(text).length);
  }
  while (right && !text.empty() && goes(LastCodePoint(text).code)) {
    text.remove_suffix(LastCodePoint(text).length);
  }
  return text;
}

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ReplaceText(std::string_view text, std::string_view from, std::string_view to,
                        std::int64_t max_count) {
  std::string out;
  if (from.empty()) {
    for (std::int64_t count = 0; count != max_count; ++count) {
      out += to;
      if (text.empty()) return out;
      const int length = ReadUtf8(text).length;
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
    return out.append(text);
  }
  for (std::int64_t count = 0; count != max_count; ++count) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) break;
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

const Value* Argument(const Arguments& arguments, std::size_t idx, std::string_view name) {
  if (idx < arguments.positional.size()) return &arguments.positional[idx];
  return name.empty() ? nullptr : arguments.Named(name);
}

Result<std::int64_t> IntArgument(const Arguments& arguments, std::size_t idx, std::string_view name,
                                 std::int64_t fallback) {
  const Value* value = Argument(arguments, idx, name);
  if (value == nullptr || value->Is(Kind::kNone)) return fallback;
  if (!value->Is(Kind::kInt) && !value->Is(Kind::kBool)) {
    return TypeError(StrCat(name.empty() ? "argument" : name, ": an integer is required, got ",
                            TypeName(*value)));
  }
  constexpr Int kLimit = Int{1} << 62;
  return static_cast<std::int64_t>(std::clamp<Int>(value->integer(), -kLimit, kLimit));
}

Result<std::string> TextArgument(const Arguments& arguments, std::size_t idx, std::string_view name,
                                 std::string fallback) {
  const Value* value = Argument(arguments, idx, name);
  if (value == nullptr) return fallback;
  if (value->Is(Kind::kUndefined)) return InvalidArgument(value->text());
  if (!value->Is(Kind::kString)) {
    return TypeError(
        StrCat(name.empty() ? "argument" : name, ": a str is required, got ", TypeName(*value)));
  }
  return value->text();
}

bool BoolArgument(const Arguments& arguments, std::size_t idx, std::string_view name,
                  bool fallback) {
  const Value* value = Argument(arguments, idx, name);
  return value == nullptr ? fallback : IsTrue(*value);
}

}  // namespace quire::jinja
