// Filters on texts.
#include <algorithm>

#include "base/strings.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

namespace {

// A text of the call's, after its bytes are paid for.
Result<Value> Made(const FilterCall& call, std::string text, bool is_safe = false) {
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(text.size()));
  return Value::String(std::move(text), is_safe);
}

template <std::string (*kChange)(std::string_view)>
Result<Value> Changed(const FilterCall& call) {
  return Made(call, kChange(call.Text()));
}

Result<Value> Trim(const FilterCall& call) {
  const Value* characters = call.Argument(0, "chars");
  const std::string text = call.Text();
  if (characters == nullptr || characters->Is(Kind::kNone)) {
    return Made(call, std::string(Strip(text, std::nullopt, true, true)));
  }
  return Made(call, std::string(Strip(text, Str(*characters), true, true)));
}

Result<Value> Replace(const FilterCall& call) {
  const Value* from = call.Argument(0, "old");
  const Value* to = call.Argument(1, "new");
  if (from == nullptr || to == nullptr) return TypeError("replace takes two arguments");
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t count, IntArgument(call.arguments, 2, "count", -1));
  const std::string text = call.Text(), old_text = Str(*from), new_text = Str(*to);
  const std::size_t places = text.size() / std::max<std::size_t>(old_text.size(), 1) + 1;
  if (new_text.size() > 64) {
    QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(places * new_text.size()));
  }
  return Made(call, ReplaceText(text, old_text, new_text, count));
}

Result<Value> EscapeFilter(const FilterCall& call) {
  if (call.input.is_safe()) return call.input;
  return Made(call, Escape(call.Text()), true);
}

Result<Value> ForceEscape(const FilterCall& call) { return Made(call, Escape(call.Text()), true); }

Result<Value> Safe(const FilterCall& call) { return Made(call, call.Text(), true); }

Result<Value> StripTags(const FilterCall& call) {
  std::string text = call.Text(), bare;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_comment = text.compare(at, 4, "<!--") == 0;
    const std::size_t end = text[at] == '<' ? text.find(is_comment ? "-->" : ">", at) : text.npos;
    if (end == std::string::npos) {
      bare += text[at++];
    } else {
      at = end + (is_comment ? 3 : 1);
    }
  }
  std::string out;
  bool needs_blank = false;
  for (std::string_view rest = bare; !rest.empty();) {
    const CodePoint point = FirstCodePoint(rest);
    if (unicode::IsWhiteSpace(point.code)) {
      needs_blank = !out.empty();
    } else {
      if (needs_blank) out += ' ';
      needs_blank = false;
      out += rest.substr(0, point.length);
    }
    rest.remove_prefix(point.length);
  }
  for (const auto& [from, to] : {std::pair{"&lt;", "<"},
                                 {"&gt;", ">"},
                                 {"&#34;", "\""},
                                 {"&quot;", "\""},
                                 {"&#39;", "'"},
                                 {"&amp;", "&"}}) {
    out = ReplaceText(out, from, to, -1);
  }
  return Made(call, std::move(out));
}

Result<Value> Indent(const FilterCall& call) {
  const Value* width = call.Argument(0, "width");
  const bool first = BoolArgument(call.arguments, 1, "first", false);
  const bool blank = BoolArgument(call.arguments, 2, "blank", false);
  std::string margin(4, ' ');
  if (width != nullptr && width->Is(Kind::kString)) {
    margin = width->text();
  } else if (width != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const std::int64_t count, IntArgument(call.arguments, 0, "width", 4));
    margin.assign(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, 10'000)), ' ');
  }
  const std::string text = call.Text();
  const std::size_t lines =
      static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(lines * margin.size()));
  std::string out;
  bool is_first = true;
  for (const std::string_view line : Split(text, '\n')) {
    if (!is_first) out += '\n';
    if (is_first ? first : (blank || !line.empty())) out += margin;
    is_first = false;
    out += line;
  }
  return Made(call, std::move(out));
}

Result<Value> Truncate(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t length, IntArgument(call.arguments, 0, "length", 255));
  const bool kill_words = BoolArgument(call.arguments, 1, "killwords", false);
  QUIRE_ASSIGN_OR_RETURN(const std::string end, TextArgument(call.arguments, 2, "end", "..."));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t leeway, IntArgument(call.arguments, 3, "leeway", 5));
  if (call.input.is_sequence() || call.input.Is(Kind::kDict)) {  // short ones pass as they are
    QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
    if (static_cast<std::int64_t>(items.size()) <= length + leeway) return call.input;
    return TypeError(StrCat("truncate: takes a string, got a ", TypeName(call.input)));
  }
  const std::string text = call.Text();
  if (length < LengthOf(end)) return InvalidArgument("truncate: length is too small for the end");
  if (LengthOf(text) <= length + leeway) return Value::String(text);
  std::string_view kept = text;
  std::size_t size = 0;
  for (std::int64_t i = 0; i < length - LengthOf(end); ++i)
    size += ReadUtf8(kept.substr(size)).length;
  kept = kept.substr(0, size);
  if (!kill_words) {
    const std::size_t blank = kept.rfind(' ');
    if (blank != std::string_view::npos) kept = kept.substr(0, blank);
  }
  return Made(call, std::string(kept) + end);
}

Result<Value> WordCount(const FilterCall& call) {
  Int count = 0;
  bool in_word = false;
  const std::string text = call.Text();
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(text.size()));
  for (std::string_view rest = text; !rest.empty();
       rest.remove_prefix(FirstCodePoint(rest).length)) {
    const bool is_word = unicode::IsWord(FirstCodePoint(rest).code);
    count += is_word && !in_word;
    in_word = is_word;
  }
  return Value::Integer(count);
}

Result<Value> Center(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t width, IntArgument(call.arguments, 0, "width", 80));
  Arguments arguments;
  arguments.positional.push_back(Value::Integer(width));
  const Value text = Value::String(call.Text());
  return call.interpreter.CallValue(*FindMethod(text, "center"), arguments);
}

Result<Value> Format(const FilterCall& call) {
  if (!call.arguments.named.empty() && !call.arguments.positional.empty()) {
    return TypeError("can't handle positional and keyword arguments at the same time");
  }
  Value arguments = Value::Tuple(call.arguments.positional);
  if (!call.arguments.named.empty()) {
    std::vector<std::pair<Value, Value>> pairs;
    for (const auto& [name, value] : call.arguments.named) {
      pairs.emplace_back(Value::String(name), value);
    }
    arguments = Value::Dict(std::move(pairs));
  }
  QUIRE_ASSIGN_OR_RETURN(std::string text, FormatPercent(call.interpreter, call.Text(), arguments));
  return Made(call, std::move(text));
}

// Breaks one line at blanks and, where it must, in words.
void WrapLine(std::string_view line, std::int64_t width, bool breaks_words,
              const std::string& between, std::string& out) {
  std::vector<std::string> lines;
  std::string current;
  const auto flush = [&] {
    const std::string_view kept = Strip(current, std::nullopt, false, true);
    if (!kept.empty()) lines.emplace_back(kept);
    current.clear();
  };
  while (!line.empty()) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::size_t end = blank == 0 ? std::min(line.find_first_not_of(' '), line.size()) : blank;
    std::string_view chunk = line.substr(0, end);
    line.remove_prefix(end);
    if (blank == 0 && current.empty() && !lines.empty()) continue;
    if (LengthOf(current) + LengthOf(chunk) > width) {
      if (blank == 0) continue;
      flush();
      while (breaks_words && LengthOf(chunk) > width) {
        std::size_t size = 0;
        for (std::int64_t i = 0; i < width; ++i) size += ReadUtf8(chunk.substr(size)).length;
        lines.emplace_back(chunk.substr(0, size));
        chunk.remove_prefix(size);
      }
    }
    current += chunk;
  }
  flush();
  out += Join(lines, between);
}

Result<Value> WordWrap(const FilterCall& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t width, IntArgument(call.arguments, 0, "width", 79));
  const bool breaks_words = BoolArgument(call.arguments, 1, "break_long_words", true);
  QUIRE_ASSIGN_OR_RETURN(const std::string between,
                         TextArgument(call.arguments, 2, "wrapstring", "\n"));
  if (width < 1) return InvalidArgument("wordwrap: width must be positive");
  const std::string text = call.Text();
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(text.size() * (1 + between.size())));
  std::string out;
  bool is_first = true;
  for (const std::string_view line : Split(text, '\n')) {
    if (!is_first) out += between;
    is_first = false;
    WrapLine(line, width, breaks_words, between, out);
  }
  return Made(call, std::move(out));
}

std::string UrlQuote(std::string_view text, bool is_query) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                          c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !is_query);
    if (is_plain) {
      out += c;
    } else if (c == ' ' && is_query) {
      out += '+';
    } else {
      out += '%';
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

Result<Value> UrlEncode(const FilterCall& call) {
  if (call.input.Is(Kind::kString) || call.input.is_number() || call.input.Is(Kind::kUndefined)) {
    return Made(call, UrlQuote(call.Text(), false));
  }
  std::string out;
  const auto add = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += '&';
    out += UrlQuote(Str(key), true) + "=" + UrlQuote(Str(value), true);
  };
  if (call.input.Is(Kind::kDict)) {
    for (const auto& [key, value] : call.input.pairs()) add(key, value);
    return Made(call, std::move(out));
  }
  QUIRE_ASSIGN_OR_RETURN(const Items items, call.Iterate());
  for (const Value& item : items) {
    QUIRE_ASSIGN_OR_RETURN(const Items pair, Iterate(item));
    if (pair.size() != 2) return InvalidArgument("urlencode needs pairs");
    add(pair[0], pair[1]);
  }
  return Made(call, std::move(out));
}

Result<Value> XmlAttributes(const FilterCall& call) {
  if (!call.input.Is(Kind::kDict)) return TypeError("xmlattr needs a mapping");
  const bool has_space = BoolArgument(call.arguments, 0, "autospace", true);
  std::string out;
  for (const auto& [key, value] : call.input.pairs()) {
    if (value.Is(Kind::kNone) || value.Is(Kind::kUndefined)) continue;
    if (Str(key).find_first_of(" />=\t\n\f\r") != std::string::npos) {
      return InvalidArgument("invalid character in attribute name");
    }
    if (!out.empty() || has_space) out += ' ';
    out += StrCat(Escape(Str(key)), "=\"", Escape(Str(value)), "\"");
  }
  return Made(call, std::move(out), true);
}

Result<Value> PrettyPrint(const FilterCall& call) { return Made(call, Repr(call.input)); }

constexpr NamedFilter kFilters[] = {
    {"upper", Changed<Upper>},
    {"lower", Changed<Lower>},
    {"title", Changed<TitleWords>},
    {"capitalize", Changed<Capitalize>},
    {"trim", Trim},
    {"replace", Replace},
    {"escape", EscapeFilter},
    {"e", EscapeFilter},
    {"forceescape", ForceEscape},
    {"safe", Safe},
    {"striptags", StripTags},
    {"indent", Indent},
    {"truncate", Truncate},
    {"wordcount", WordCount},
    {"center", Center},
    {"format", Format},
    {"wordwrap", WordWrap},
    {"urlencode", UrlEncode},
    {"xmlattr", XmlAttributes},
    {"pprint", PrettyPrint},
};

}  // namespace

std::span<const NamedFilter> TextFilters() { return kFilters; }

}  // namespace quire::jinja
