// Methods of strings, lists and dicts.
#include <algorithm>
#include <array>
#include <memory>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

namespace {

struct Call {
  Interpreter& interpreter;
  const Value& self;
  const Arguments& arguments;

  const std::string& text() const { return self.text(); }
  Status Spend() const { return interpreter.SpendBytes(text().size()); }
};

using Method = Result<Value> (*)(const Call&);

Value Text(std::string_view text) { return Value::String(std::string(text)); }

template <bool kLeft, bool kRight>
Result<Value> StripMethod(const Call& call) {
  const Value* characters = Argument(call.arguments, 0, "");
  if (characters == nullptr || characters->Is(Kind::kNone)) {
    return Text(Strip(call.text(), std::nullopt, kLeft, kRight));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string set, TextArgument(call.arguments, 0, "", ""));
  return Text(Strip(call.text(), set, kLeft, kRight));
}

template <std::string (*kChange)(std::string_view)>
Result<Value> Changed(const Call& call) {
  QUIRE_RETURN_IF_ERROR(call.Spend());
  return Value::String(kChange(call.text()));
}

// str.title(): a letter after anything that is no letter begins a word.
std::string Title(std::string_view text) {
  std::string out;
  bool was_cased = false;
  while (!text.empty()) {
    const Utf8Step step = ReadUtf8(text);
    const char32_t code =
        step.kind == Utf8Step::Kind::kValid ? FirstCodePoint(text).code : char32_t{0xFFFD};
    if (was_cased) {
      unicode::AppendLower(out, code);
    } else {
      unicode::AppendTitle(out, code);
    }
    was_cased = unicode::IsCased(code);
    text.remove_prefix(step.length);
  }
  return out;
}

std::string SwapCase(std::string_view text) {
  std::string out;
  for (; !text.empty(); text.remove_prefix(ReadUtf8(text).length)) {
    const char32_t code = FirstCodePoint(text).code;
    if (unicode::IsIn(code, unicode::SetOf(unicode::Category::kLu))) {
      unicode::AppendLower(out, code);
    } else {
      unicode::AppendUpper(out, code);
    }
  }
  return out;
}

Value Parts(const std::vector<std::string_view>& parts) {
  Items items;
  for (const std::string_view part : parts) items.push_back(Text(part));
  return Value::List(std::move(items));
}

// split() without a separator: runs of blanks between words.
std::vector<std::string_view> SplitWords(std::string_view text, std::int64_t max_splits,
                                         bool from_right) {
  std::vector<std::string_view> parts;
  text = Strip(text, std::nullopt, true, true);
  while (!text.empty()) {
    if (static_cast<std::int64_t>(parts.size()) == max_splits) {
      parts.push_back(text);
      break;
    }
    // The word at the end that is split from.
    std::size_t size = 0;
    while (size < text.size()) {
      const CodePoint point = from_right ? LastCodePoint(text.substr(0, text.size() - size))
                                         : FirstCodePoint(text.substr(size));
      if (unicode::IsWhiteSpace(point.code) || (point.code >= 0x1C && point.code <= 0x1F)) break;
      size += point.length;
    }
    parts.push_back(from_right ? text.substr(text.size() - size) : text.substr(0, size));
    text = from_right ? text.substr(0, text.size() - size) : text.substr(size);
    text = Strip(text, std::nullopt, !from_right, from_right);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool kFromRight>
Result<Value> SplitMethod(const Call& call) {
  const Value* separator = Argument(call.arguments, 0, "sep");
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t max_splits,
                         IntArgument(call.arguments, 1, "maxsplit", -1));
  QUIRE_RETURN_IF_ERROR(call.Spend());
  if (separator == nullptr || separator->Is(Kind::kNone)) {
    return Parts(SplitWords(call.text(), max_splits, kFromRight));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string mark, TextArgument(call.arguments, 0, "sep", ""));
  if (mark.empty()) return InvalidArgument("empty separator");
  std::vector<std::string_view> parts;
  std::string_view rest = call.text();
  while (static_cast<std::int64_t>(parts.size()) != max_splits) {
    const std::size_t at = kFromRight ? rest.rfind(mark) : rest.find(mark);
    if (at == std::string_view::npos) break;
    parts.push_back(kFromRight ? rest.substr(at + mark.size()) : rest.substr(0, at));
    rest = kFromRight ? rest.substr(0, at) : rest.substr(at + mark.size());
  }
  parts.push_back(rest);
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(parts.size() * sizeof(Value)));
  if (kFromRight) std::reverse(parts.begin(), parts.end());
  return Parts(parts);
}

Result<Value> SplitLines(const Call& call) {
  const bool keeps_ends = BoolArgument(call.arguments, 0, "keepends", false);
  QUIRE_RETURN_IF_ERROR(call.Spend());
  std::vector<std::string_view> lines;
  const std::string_view text = call.text();
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = FirstCodePoint(text.substr(at));
    const bool ends = (point.code >= 0x0A && point.code <= 0x0D) ||
                      (point.code >= 0x1C && point.code <= 0x1E) || point.code == 0x85 ||
                      point.code == 0x2028 || point.code == 0x2029;
    std::size_t next = at + point.length;
    if (point.code == '\r' && next < text.size() && text[next] == '\n') ++next;
    if (ends) {
      lines.push_back(text.substr(start, (keeps_ends ? next : at) - start));
      start = next;
    }
    at = next;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return Parts(lines);
}

template <bool kAtEnd>
Result<Value> StartsOrEnds(const Call& call) {
  const Value* wanted = Argument(call.arguments, 0, "");
  if (wanted == nullptr) return TypeError("one argument is required");
  Items all = wanted->Is(Kind::kTuple) ? wanted->items() : Items{*wanted};
  for (const Value& one : all) {
    if (!one.Is(Kind::kString)) {
      return TypeError(StrCat("a str or a tuple of str is required, not ", TypeName(one)));
    }
    if (kAtEnd ? call.text().ends_with(one.text()) : call.text().starts_with(one.text())) {
      return Value::Bool(true);
    }
  }
  return Value::Bool(false);
}

template <bool kFromRight, bool kMustFind>
Result<Value> FindMethod(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::string wanted, TextArgument(call.arguments, 0, "", ""));
  QUIRE_RETURN_IF_ERROR(call.Spend());
  const std::size_t at = kFromRight ? call.text().rfind(wanted) : call.text().find(wanted);
  if (at != std::string::npos) {
    return Value::Integer(LengthOf(std::string_view(call.text()).substr(0, at)));
  }
  if (kMustFind) return InvalidArgument("substring not found");
  return Value::Integer(-1);
}

Result<Value> Count(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::string wanted, TextArgument(call.arguments, 0, "", ""));
  QUIRE_RETURN_IF_ERROR(call.Spend());
  if (wanted.empty()) return Value::Integer(LengthOf(call.text()) + 1);
  Int count = 0;
  for (std::size_t at = call.text().find(wanted); at != std::string::npos;
       at = call.text().find(wanted, at + wanted.size())) {
    ++count;
  }
  return Value::Integer(count);
}

Result<Value> Replace(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::string from, TextArgument(call.arguments, 0, "", ""));
  QUIRE_ASSIGN_OR_RETURN(const std::string to, TextArgument(call.arguments, 1, "", ""));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t count, IntArgument(call.arguments, 2, "count", -1));
  if (call.arguments.positional.size() < 2) return TypeError("replace expected two arguments");
  const std::size_t places = call.text().size() / std::max<std::size_t>(from.size(), 1) + 1;
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(call.text().size()));
  if (to.size() > 64) QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(places * to.size()));
  return Value::String(ReplaceText(call.text(), from, to, count));
}

Result<Value> Join(const Call& call) {
  const Value* list = Argument(call.arguments, 0, "");
  if (list == nullptr) return TypeError("join takes one argument");
  QUIRE_ASSIGN_OR_RETURN(const Items items, Iterate(*list));
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].Is(Kind::kString)) {
      return TypeError(
          StrCat("sequence item ", i, ": expected str instance, ", TypeName(items[i]), " found"));
    }
    QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(items[i].text().size() + call.text().size()));
    if (i > 0) out += call.text();
    out += items[i].text();
  }
  return Value::String(std::move(out));
}

Result<Value> Format(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(std::string text,
                         FormatBraces(call.interpreter, call.text(), call.arguments));
  return Value::String(std::move(text));
}

// Whether all code points are of some kind, and there is one.
template <bool (*kIs)(char32_t)>
Result<Value> AllAre(const Call& call) {
  QUIRE_RETURN_IF_ERROR(call.Spend());
  std::string_view rest = call.text();
  bool all = !rest.empty();
  for (; all && !rest.empty(); rest.remove_prefix(FirstCodePoint(rest).length)) {
    all = kIs(FirstCodePoint(rest).code);
  }
  return Value::Bool(all);
}

bool IsDigit(char32_t code) {
  return unicode::CategoryOf(code) == unicode::Category::kNd ||
         (unicode::CategoryOf(code) == unicode::Category::kNo &&
          ((code >= 0xB2 && code <= 0xB3) || code == 0xB9 || (code >= 0x2070 && code <= 0x2089) ||
           (code >= 0x2460 && code <= 0x2468)));
}
bool IsDecimal(char32_t code) { return unicode::CategoryOf(code) == unicode::Category::kNd; }
bool IsAlphanumeric(char32_t code) { return unicode::IsLetter(code) || unicode::IsNumber(code); }
bool IsBlank(char32_t code) {
  return unicode::IsWhiteSpace(code) || (code >= 0x1C && code <= 0x1F);
}

template <bool kUpper>
Result<Value> IsCase(const Call& call) {
  QUIRE_RETURN_IF_ERROR(call.Spend());
  bool has_cased = false;
  std::string_view rest = call.text();
  for (; !rest.empty(); rest.remove_prefix(FirstCodePoint(rest).length)) {
    const char32_t code = FirstCodePoint(rest).code;
    if (!unicode::IsCased(code)) continue;
    const bool is_upper = unicode::CategoryOf(code) == unicode::Category::kLu;
    const bool is_title = unicode::CategoryOf(code) == unicode::Category::kLt;
    if (is_title || is_upper != kUpper) return Value::Bool(false);
    has_cased = true;
  }
  return Value::Bool(has_cased);
}

// center, ljust, rjust.
template <int kSide>
Result<Value> Justify(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t width, IntArgument(call.arguments, 0, "", 0));
  QUIRE_ASSIGN_OR_RETURN(const std::string fill, TextArgument(call.arguments, 1, "", " "));
  if (LengthOf(fill) != 1)
    return TypeError("the fill character must be exactly one character long");
  const std::int64_t missing = width - LengthOf(call.text());
  if (missing <= 0) return call.self;
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(
      call.text().size() + static_cast<std::size_t>(missing) * fill.size()));
  const std::int64_t left = kSide < 0   ? 0
                            : kSide > 0 ? missing
                                        : missing / 2 + (missing & width & 1);
  std::string out;
  for (std::int64_t i = 0; i < left; ++i) out += fill;
  out += call.text();
  for (std::int64_t i = left; i < missing; ++i) out += fill;
  return Value::String(std::move(out));
}

Result<Value> ZFill(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t width, IntArgument(call.arguments, 0, "", 0));
  const std::int64_t missing = width - LengthOf(call.text());
  if (missing <= 0) return call.self;
  QUIRE_RETURN_IF_ERROR(
      call.interpreter.SpendBytes(call.text().size() + static_cast<std::size_t>(missing)));
  const bool has_sign = call.text().starts_with('-') || call.text().starts_with('+');
  std::string out = call.text();
  out.insert(has_sign ? 1 : 0, static_cast<std::size_t>(missing), '0');
  return Value::String(std::move(out));
}

template <bool kFromRight>
Result<Value> Partition(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::string mark, TextArgument(call.arguments, 0, "", ""));
  if (mark.empty()) return InvalidArgument("empty separator");
  const std::string_view text = call.text();
  const std::size_t at = kFromRight ? text.rfind(mark) : text.find(mark);
  if (at == std::string_view::npos) {
    return kFromRight ? Value::Tuple({Text(""), Text(""), call.self})
                      : Value::Tuple({call.self, Text(""), Text("")});
  }
  return Value::Tuple({Text(text.substr(0, at)), Text(mark), Text(text.substr(at + mark.size()))});
}

template <bool kAtEnd>
Result<Value> RemoveAffix(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::string affix, TextArgument(call.arguments, 0, "", ""));
  std::string_view text = call.text();
  if (kAtEnd && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!kAtEnd && text.starts_with(affix)) text.remove_prefix(affix.size());
  return Text(text);
}

Result<Value> ExpandTabs(const Call& call) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t size, IntArgument(call.arguments, 0, "tabsize", 8));
  const std::int64_t width = std::clamp<std::int64_t>(size, 0, 1000);
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(
      call.text().size() * static_cast<std::size_t>(std::max<std::int64_t>(width, 1))));
  std::string out;
  std::int64_t column = 0;
  for (const char c : call.text()) {
    if (c == '\t') {
      for (std::int64_t n = width == 0 ? 0 : width - column % width; n > 0; --n, ++column)
        out += ' ';
      continue;
    }
    out += c;
    column = c == '\n' || c == '\r' ? 0 : column + ((c & 0xC0) != 0x80);
  }
  return Value::String(std::move(out));
}

Result<Value> ListIndex(const Call& call) {
  const Value* wanted = Argument(call.arguments, 0, "");
  if (wanted == nullptr) return TypeError("index takes one argument");
  const Items& items = call.self.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (Equal(items[i], *wanted)) return Value::Integer(static_cast<Int>(i));
  }
  return InvalidArgument(StrCat(Repr(*wanted), " is not in list"));
}

Result<Value> ListCount(const Call& call) {
  const Value* wanted = Argument(call.arguments, 0, "");
  if (wanted == nullptr) return TypeError("count takes one argument");
  const Items& items = call.self.items();
  return Value::Integer(std::count_if(items.begin(), items.end(),
                                      [&](const Value& item) { return Equal(item, *wanted); }));
}

Result<Value> CopySelf(const Call& call) { return call.self; }

Result<Value> DictGet(const Call& call) {
  const Value* key = Argument(call.arguments, 0, "");
  if (key == nullptr) return TypeError("get expected at least 1 argument, got 0");
  if (const Value* value = call.self.Find(*key)) return *value;
  const Value* fallback = Argument(call.arguments, 1, "");
  return fallback == nullptr ? Value::None() : *fallback;
}

// keys(), values() and items().
template <int kPart>
Result<Value> DictView(const Call& call) {
  Items items;
  QUIRE_RETURN_IF_ERROR(call.interpreter.SpendBytes(call.self.pairs().size() * sizeof(Value)));
  for (const auto& [key, value] : call.self.pairs()) {
    items.push_back(kPart == 0 ? key : kPart == 1 ? value : Value::Tuple({key, value}));
  }
  constexpr std::array<std::string_view, 3> kNames = {"dict_keys", "dict_values", "dict_items"};
  return Value::List(std::move(items), Kind::kView, std::string(kNames[kPart]));
}

struct Named {
  std::string_view name;
  Method method;
};

constexpr Named kStringMethods[] = {
    {"strip", StripMethod<true, true>},
    {"lstrip", StripMethod<true, false>},
    {"rstrip", StripMethod<false, true>},
    {"upper", Changed<Upper>},
    {"lower", Changed<Lower>},
    {"casefold", Changed<Lower>},
    {"title", Changed<Title>},
    {"capitalize", Changed<Capitalize>},
    {"swapcase", Changed<SwapCase>},
    {"split", SplitMethod<false>},
    {"rsplit", SplitMethod<true>},
    {"splitlines", SplitLines},
    {"startswith", StartsOrEnds<false>},
    {"endswith", StartsOrEnds<true>},
    {"find", FindMethod<false, false>},
    {"rfind", FindMethod<true, false>},
    {"index", FindMethod<false, true>},
    {"rindex", FindMethod<true, true>},
    {"count", Count},
    {"replace", Replace},
    {"join", Join},
    {"format", Format},
    {"isdigit", AllAre<IsDigit>},
    {"isdecimal", AllAre<IsDecimal>},
    {"isnumeric", AllAre<unicode::IsNumber>},
    {"isalpha", AllAre<unicode::IsLetter>},
    {"isalnum", AllAre<IsAlphanumeric>},
    {"isspace", AllAre<IsBlank>},
    {"isupper", IsCase<true>},
    {"islower", IsCase<false>},
    {"center", Justify<0>},
    {"ljust", Justify<-1>},
    {"rjust", Justify<1>},
    {"zfill", ZFill},
    {"partition", Partition<false>},
    {"rpartition", Partition<true>},
    {"removeprefix", RemoveAffix<false>},
    {"removesuffix", RemoveAffix<true>},
    {"expandtabs", ExpandTabs},
};
constexpr Named kListMethods[] = {{"index", ListIndex}, {"count", ListCount}, {"copy", CopySelf}};
constexpr Named kDictMethods[] = {{"get", DictGet},
                                  {"keys", DictView<0>},
                                  {"values", DictView<1>},
                                  {"items", DictView<2>},
                                  {"copy", CopySelf}};
class BoundMethod final : public Callable {
 public:
  BoundMethod(Value self, const Named& named) : self_(std::move(self)), named_(named) {}
  Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) override {
    return named_.method({interpreter, self_, arguments});
  }
  std::string Show() const override {
    return StrCat("<built-in method ", named_.name, " of ", TypeName(self_), " object>");
  }

 private:
  Value self_;
  const Named& named_;
};

// Methods that would change a value that others share are not there at all.
template <std::size_t kSize>
const Named* FindNamed(const Named (&table)[kSize], std::string_view name) {
  const Named* found =
      std::find_if(table, table + kSize, [&](const Named& entry) { return entry.name == name; });
  return found == table + kSize ? nullptr : found;
}

}  // namespace

std::optional<Value> FindMethod(const Value& object, const std::string& name) {
  const Named* found = nullptr;
  switch (object.kind()) {
    case Kind::kString:
      found = FindNamed(kStringMethods, name);
      break;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      found = FindNamed(kListMethods, name);
      break;
    case Kind::kDict:
      found = FindNamed(kDictMethods, name);
      break;
    case Kind::kNamespace:
      for (const auto& [known, value] : object.names()) {
        if (known == name) return value;
      }
      return std::nullopt;
    case Kind::kCallable:
      return object.callable().Attribute(name);
    case Kind::kObject:
      return object.object().Attribute(name);
    default:
      return std::nullopt;
  }
  if (found != nullptr) {
    return Value::Function(std::make_shared<BoundMethod>(object, *found), object.nesting() + 1);
  }
  return std::nullopt;
}

}  // namespace quire::jinja
