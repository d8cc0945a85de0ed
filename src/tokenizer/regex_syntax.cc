#include "tokenizer/regex_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr int kMaxNesting = 16;

// The code points of some categories that a PCRE2 with older data does not know, as class items.
std::string NewerItems(unicode::CategorySet set) {
  std::string out;
  const auto hex = [&](char32_t code) {
    char digits[8];
    const auto end = std::to_chars(digits, digits + sizeof digits, std::uint32_t{code}, 16);
    return StrCat("\\x{", std::string_view(digits, end.ptr - digits), "}");
  };
  for (int i = 0; i < unicode::kAgesCount; ++i) {
    const unicode::CodeRange& range = unicode::kAges[i];
    if (static_cast<unicode::AgeClass>(range.value) != unicode::AgeClass::kLater) continue;
    for (char32_t code = range.first; code <= range.last; ++code) {
      if (!unicode::IsIn(code, set)) continue;
      const char32_t first = code;
      while (code < range.last && unicode::IsIn(code + 1, set)) ++code;
      out += first == code ? hex(first) : StrCat(hex(first), "-", hex(code));
    }
  }
  return out;
}

// The categories that a name of one or two letters stands for; empty for any other name.
unicode::CategorySet CategoriesNamed(std::string_view name) {
  constexpr std::string_view kNames =
      "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";
  unicode::CategorySet set = 0;
  for (std::size_t i = 0; i * 2 < kNames.size(); ++i) {
    const std::string_view known = kNames.substr(i * 2, 2);
    const bool is_cased = name == "L&" && (known == "Lu" || known == "Ll" || known == "Lt");
    if (known == name || (name.size() == 1 && known[0] == name[0]) || is_cased) {
      set |= unicode::SetOf(static_cast<unicode::Category>(i));
    }
  }
  return set;
}

// What the short classes hold, for use inside brackets.
constexpr std::string_view kSpaceItems = "\\t-\\r\\x{85}\\p{Z}";
constexpr std::string_view kHexItems = "0-9a-fA-F";

std::string DigitItems() { return "\\p{Nd}" + NewerItems(CategoriesNamed("Nd")); }

std::string WordItems() {
  return "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}" +
         NewerItems(unicode::kLetter | unicode::kMark | CategoriesNamed("Nd") |
                    CategoriesNamed("Nl") | CategoriesNamed("Pc"));
}

// Outside of brackets Oniguruma asks an old table for the first 256 code points, which has some
// numbers for word characters that the class of the same name lacks.
std::string BareWordItems() { return WordItems() + "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"; }

std::string ItemsOf(char lower) {
  switch (lower) {
    case 's':
      return std::string(kSpaceItems);
    case 'd':
      return DigitItems();
    case 'w':
      return WordItems();
    case 'h':
      return std::string(kHexItems);
    default:
      return {};
  }
}

struct LongName {
  std::string_view name, category;
};
constexpr std::array kLongNames = {
    LongName{"letter", "L"},
    LongName{"uppercaseletter", "Lu"},
    LongName{"lowercaseletter", "Ll"},
    LongName{"titlecaseletter", "Lt"},
    LongName{"casedletter", "L&"},
    LongName{"modifierletter", "Lm"},
    LongName{"otherletter", "Lo"},
    LongName{"mark", "M"},
    LongName{"combiningmark", "M"},
    LongName{"nonspacingmark", "Mn"},
    LongName{"spacingmark", "Mc"},
    LongName{"enclosingmark", "Me"},
    LongName{"number", "N"},
    LongName{"decimalnumber", "Nd"},
    LongName{"letternumber", "Nl"},
    LongName{"othernumber", "No"},
    LongName{"punctuation", "P"},
    LongName{"connectorpunctuation", "Pc"},
    LongName{"dashpunctuation", "Pd"},
    LongName{"openpunctuation", "Ps"},
    LongName{"closepunctuation", "Pe"},
    LongName{"initialpunctuation", "Pi"},
    LongName{"finalpunctuation", "Pf"},
    LongName{"otherpunctuation", "Po"},
    LongName{"symbol", "S"},
    LongName{"mathsymbol", "Sm"},
    LongName{"currencysymbol", "Sc"},
    LongName{"modifiersymbol", "Sk"},
    LongName{"othersymbol", "So"},
    LongName{"separator", "Z"},
    LongName{"spaceseparator", "Zs"},
    LongName{"lineseparator", "Zl"},
    LongName{"paragraphseparator", "Zp"},
    LongName{"other", "C"},
    LongName{"control", "Cc"},
    LongName{"format", "Cf"},
    LongName{"unassigned", "Cn"},
    LongName{"privateuse", "Co"},
    LongName{"alpha", "Alphabetic"},
    LongName{"upper", "Uppercase"},
    LongName{"lower", "Lowercase"},
    LongName{"punct", "P"},
    LongName{"digit", "Nd"},
    LongName{"cntrl", "Cc"},
};

// A name without case, blanks, hyphens and underscores, as Oniguruma compares them.
std::string LooseName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_') out += static_cast<char>(std::tolower(c));
  }
  return out;
}

// The class items for \p{name}. PCRE2 takes a bare script name for the script's extensions.
std::string PropertyItems(std::string_view name) {
  const std::string loose = LooseName(name);
  for (const LongName& known : kLongNames) {
    if (known.name == loose) {
      return StrCat("\\p{", known.category, "}", NewerItems(CategoriesNamed(known.category)));
    }
  }
  for (int i = 0; i < unicode::kScriptNamesCount; ++i) {
    if (LooseName(unicode::kScriptNames[i]) != loose) continue;
    // Ideographs are the only script of which PCRE2 lacks a large block.
    constexpr std::string_view kNewerHan =
        "\\x{2ebf0}-\\x{2ee5d}\\x{31350}-\\x{323af}\\x{323b0}-\\x{33479}";
    return StrCat("\\p{sc:", unicode::kScriptNames[i], "}", loose == "han" ? kNewerHan : "");
  }
  return StrCat("\\p{", name, "}", NewerItems(CategoriesNamed(name)));
}

class Translator {
 public:
  explicit Translator(std::string_view source) : source_(source) {}

  Result<std::string> Translate() {
    while (at_ < source_.size()) QUIRE_RETURN_IF_ERROR(TranslateOne());
    return std::move(out_);
  }

 private:
  bool StartsWith(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  Status Fault(std::string_view what) const {
    return InvalidArgument(StrCat("regex \"", Printable(source_), "\": ", what, " at byte ", at_));
  }
  void BeginAtom() { atom_ = out_.size(); }

  Status TranslateOne();
  Status TranslateGroup();
  void TranslateInterval();
  Status TranslateEscape();
  Result<std::string> ReadProperty();
  Result<std::string> ReadCodePoint(int digits);
  Result<std::string> ReadClass(int depth);
  Result<std::string> ReadClassEscape(std::vector<std::string>& others);
  bool ReadPosix(std::string& items, std::vector<std::string>& others);

  std::string_view source_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t atom_ = 0;             // where the last atom begins in out_
  std::vector<std::size_t> groups_;  // where the open groups begin in out_
};

Status Translator::TranslateOne() {
  const char c = Peek();
  switch (c) {
    case '\\':
      return TranslateEscape();
    case '[': {
      BeginAtom();
      QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadClass(0));
      out_ += text;
      return {};
    }
    case '(':
      return TranslateGroup();
    case ')':
      if (!groups_.empty()) {
        atom_ = groups_.back();
        groups_.pop_back();
      }
      break;
    case '{':
      TranslateInterval();
      return {};
    case '*':
    case '+':
    case '?':
      break;
    default: {
      BeginAtom();
      const int length = FirstCodePoint(source_.substr(at_)).length;
      out_ += source_.substr(at_, length);
      at_ += length;
      return {};
    }
  }
  out_ += c;
  ++at_;
  return {};
}

// A group's head; in option lists Ruby's m is Perl's s.
Status Translator::TranslateGroup() {
  groups_.push_back(out_.size());
  out_ += '(';
  ++at_;
  if (Peek() != '?') return {};
  if (Peek(1) == '#') {
    const std::size_t end = source_.find(')', at_);
    if (end == std::string_view::npos) return Fault("a comment without an end");
    groups_.pop_back();
    out_.pop_back();
    at_ = end + 1;
    return {};
  }
  std::size_t end = at_ + 1;
  while (end < source_.size() && std::string_view("imx-").find(source_[end]) != std::string::npos) {
    ++end;
  }
  if (end == at_ + 1 || end >= source_.size() || (source_[end] != ':' && source_[end] != ')')) {
    return {};
  }
  std::string options(source_.substr(at_, end - at_));
  std::replace(options.begin(), options.end(), 'm', 's');
  out_ += options;
  at_ = end;
  return {};
}

// {n,m}, {n,}, {,m}, {n}: what follows is another quantifier in Ruby, not a possessive mark.
void Translator::TranslateInterval() {
  const std::size_t end = source_.find('}', at_);
  const std::string_view inside =
      end == std::string_view::npos ? "" : source_.substr(at_ + 1, end - at_ - 1);
  const std::size_t comma = inside.find(',');
  const std::string_view low = inside.substr(0, comma);
  const std::string_view high = comma == inside.npos ? low : inside.substr(comma + 1);
  const auto is_number = [](std::string_view text) {
    return text.size() < 7 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!is_number(low) || !is_number(high) || (low.empty() && high.empty())) {
    BeginAtom();
    out_ += "\\{";
    ++at_;
    return;
  }
  out_ += StrCat("{", low.empty() ? "0" : low, comma == inside.npos ? "" : ",",
                 comma == inside.npos ? "" : high, "}");
  at_ = end + 1;
  if (Peek() == '+' || Peek() == '*' || (Peek() == '?' && comma == inside.npos)) {
    out_.insert(atom_, "(?:");
    out_ += ')';
  }
}

Status Translator::TranslateEscape() {
  const char c = Peek(1);
  const char lower = static_cast<char>(std::tolower(c));
  if (c == '\0') return Fault("a backslash at the end");
  if (c == 'b' || c == 'B') {  // word edges by our idea of a word
    const std::string word = StrCat("[", BareWordItems(), "]");
    const bool is_edge = c == 'b';
    BeginAtom();
    out_ += StrCat("(?:(?<=", word, ")(?", is_edge ? "!" : "=", word, ")|(?<!", word, ")(?",
                   is_edge ? "=" : "!", word, "))");
    at_ += 2;
    return {};
  }
  BeginAtom();
  if (const std::string items = lower == 'w' ? BareWordItems() : ItemsOf(lower); !items.empty()) {
    out_ += StrCat(c == lower ? "[" : "[^", items, "]");
    at_ += 2;
    return {};
  }
  if (lower == 'p' && Peek(2) == '{') {
    QUIRE_ASSIGN_OR_RETURN(const std::string property, ReadProperty());
    out_ += property;
    return {};
  }
  if (c == 'u') {
    QUIRE_ASSIGN_OR_RETURN(const std::string code, ReadCodePoint(4));
    out_ += code;
    return {};
  }
  if (c == 'v') {
    out_ += "\\x0b";
    at_ += 2;
    return {};
  }
  const int length = FirstCodePoint(source_.substr(at_ + 1)).length;
  out_ += source_.substr(at_, 1 + length);
  at_ += 1 + length;
  return {};
}

// \p{name} and \P{name}.
Result<std::string> Translator::ReadProperty() {
  const std::size_t end = source_.find('}', at_);
  if (end == std::string_view::npos) return Fault("\\p{ without an end");
  std::string_view name = source_.substr(at_ + 3, end - at_ - 3);
  bool is_negated = Peek(1) == 'P';
  if (name.starts_with('^')) {
    name.remove_prefix(1);
    is_negated = !is_negated;
  }
  at_ = end + 1;
  const std::string loose = LooseName(name);
  const std::string items = loose == "space"    ? std::string(kSpaceItems)
                            : loose == "word"   ? WordItems()
                            : loose == "alnum"  ? "\\p{Alphabetic}" + DigitItems()
                            : loose == "xdigit" ? std::string(kHexItems)
                                                : PropertyItems(name);
  return StrCat(is_negated ? "[^" : "[", items, "]");
}

// \uHHHH.
Result<std::string> Translator::ReadCodePoint(int digits) {
  const std::string_view hex = source_.substr(std::min(at_ + 2, source_.size()), digits);
  const bool is_hex =
      static_cast<int>(hex.size()) == digits && std::all_of(hex.begin(), hex.end(), [](char c) {
        return std::isxdigit(static_cast<unsigned char>(c));
      });
  if (!is_hex) return Fault("\\u without four hexadecimal digits");
  at_ += 2 + digits;
  return StrCat("\\x{", hex, "}");
}

// What Oniguruma takes the name in [:name:] for; empty for a name it does not know.
std::string PosixItems(std::string_view name) {
  const auto with_newer = [](std::string_view items, unicode::CategorySet set) {
    return StrCat(items, NewerItems(set));
  };
  const unicode::CategorySet visible = unicode::kLetter | unicode::kMark | CategoriesNamed("N") |
                                       CategoriesNamed("P") | CategoriesNamed("S") |
                                       CategoriesNamed("Cf");
  constexpr std::string_view kVisible = "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}";
  if (name == "space") return std::string(kSpaceItems);
  if (name == "word") return WordItems();
  if (name == "digit") return DigitItems();
  if (name == "xdigit") return std::string(kHexItems);
  if (name == "ascii") return "\\x{00}-\\x{7f}";
  if (name == "cntrl") return "\\p{Cc}";
  if (name == "blank") return "\\t\\p{Zs}";
  if (name == "alpha") return with_newer("\\p{Alphabetic}", unicode::kLetter);
  if (name == "alnum") return with_newer("\\p{Alphabetic}", unicode::kLetter) + DigitItems();
  if (name == "upper") return with_newer("\\p{Uppercase}", CategoriesNamed("Lu"));
  if (name == "lower") return with_newer("\\p{Lowercase}", CategoriesNamed("Ll"));
  if (name == "punct") {
    return with_newer("\\p{P}\\p{S}", CategoriesNamed("P") | CategoriesNamed("S"));
  }
  if (name == "graph") return with_newer(kVisible, visible);
  if (name == "print") return with_newer(kVisible, visible) + "\\p{Zs}";
  return {};
}

// [:name:] or [:^name:] at the cursor, as items of a class or as one of `others`.
bool Translator::ReadPosix(std::string& items, std::vector<std::string>& others) {
  if (!StartsWith("[:")) return false;
  const std::size_t end = source_.find(":]", at_);
  if (end == std::string_view::npos || end - at_ > 20) return false;
  std::string_view name = source_.substr(at_ + 2, end - at_ - 2);
  const bool is_negated = name.starts_with('^');
  if (is_negated) name.remove_prefix(1);
  const std::string found = PosixItems(name);
  if (found.empty()) return false;
  if (is_negated) {
    others.push_back(StrCat("[^", found, "]"));
  } else {
    items += found;
  }
  at_ = end + 2;
  return true;
}

// An escape inside brackets: items of the class, or a class of its own put into `others`.
Result<std::string> Translator::ReadClassEscape(std::vector<std::string>& others) {
  const char c = Peek(1);
  const char lower = static_cast<char>(std::tolower(c));
  if (c == '\0') return Fault("a backslash at the end");
  if (const std::string items = ItemsOf(lower); !items.empty()) {
    at_ += 2;
    if (c == lower) return std::string(items);
    others.push_back(StrCat("[^", items, "]"));
    return std::string();
  }
  if (lower == 'p' && Peek(2) == '{') {
    QUIRE_ASSIGN_OR_RETURN(std::string property, ReadProperty());
    if (!property.starts_with("[^")) return property.substr(1, property.size() - 2);
    others.push_back(std::move(property));
    return std::string();
  }
  if (c == 'u') return ReadCodePoint(4);
  if (c == 'v') {
    at_ += 2;
    return std::string("\\x0b");
  }
  const int length = FirstCodePoint(source_.substr(at_ + 1)).length;
  std::string text(source_.substr(at_, 1 + length));
  at_ += 1 + length;
  return text;
}

// What one code point must be: `items` in brackets or any of `others`.
std::string AnyOf(const std::string& items, const std::vector<std::string>& others) {
  if (others.empty()) return items.empty() ? "(?!)" : StrCat("[", items, "]");
  std::string out = "(?:";
  if (!items.empty()) out += StrCat("[", items, "]|");
  return out + Join(others, "|") + ")";
}

// A bracket expression at the cursor, as something that matches one code point.
Result<std::string> Translator::ReadClass(int depth) {
  if (depth > kMaxNesting) return Fault("brackets nested too deeply");
  ++at_;
  const bool is_negated = Peek() == '^';
  if (is_negated) ++at_;
  std::string items;                // of the set being read
  std::vector<std::string> others;  // classes joined with it
  std::vector<std::string> sets;    // finished ones, to be intersected
  for (bool is_first = true;; is_first = false) {
    if (at_ >= source_.size()) return Fault("[ without an end");
    const char c = Peek();
    if (c == ']' && !is_first) break;
    if (StartsWith("&&")) {
      at_ += 2;
      sets.push_back(AnyOf(items, others));
      items.clear();
      others.clear();
    } else if (c == '\\') {
      QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadClassEscape(others));
      items += text;
    } else if (c == '[') {
      if (ReadPosix(items, others)) continue;
      QUIRE_ASSIGN_OR_RETURN(std::string nested, ReadClass(depth + 1));
      others.push_back(std::move(nested));
    } else {
      if (c == ']' || (c == '^' && items.empty())) items += '\\';
      const int length = FirstCodePoint(source_.substr(at_)).length;
      items += source_.substr(at_, length);
      at_ += length;
    }
  }
  ++at_;
  if (sets.empty() && others.empty() && !items.empty()) {
    return StrCat(is_negated ? "[^" : "[", items, "]");
  }
  std::string all = AnyOf(items, others);
  for (const std::string& set : sets) all = StrCat("(?:(?=", set, ")", all, ")");
  return is_negated ? StrCat("(?:(?!", all, ")(?s:.))") : all;
}

}  // namespace

Result<std::string> TranslateRegex(std::string_view source) {
  if (!IsValidUtf8(source)) return InvalidArgument("regex: not valid UTF-8");
  return Translator(source).Translate();
}

}  // namespace quire
