#include "structured/json_text.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire::structured {
namespace {

// Enough for a line break and the indentation of deep values; bounded, so that a model that likes
// blanks comes to an end.
constexpr int kMaxBlanks = 24;

constexpr std::array<std::pair<char32_t, char>, 7> kShortEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

const CharSet& Blanks() {
  static const CharSet kAll = CharSet(U' ') | CharSet(U'\n') | CharSet(U'\r') | CharSet(U'\t');
  return kAll;
}

// What stands in a JSON string as itself.
const CharSet& RawChars() {
  static const CharSet kRaw = ~(CharSet(0, 0x1F) | CharSet(U'"') | CharSet(U'\\'));
  return kRaw;
}

CharSet HexDigits(char32_t first, char32_t last) {
  CharSet digits;
  for (char32_t value = first; value <= last; ++value) {
    if (value < 10) {
      digits |= CharSet(U'0' + value);
    } else {
      digits |= CharSet(U'a' + value - 10) | CharSet(U'A' + value - 10);
    }
  }
  return digits;
}

}  // namespace

template <typename Make>
Grammar::Node JsonText::Once(std::optional<Grammar::Rule>& rule, Make&& make) {
  if (!rule) {
    rule = grammar_.AddRule();
    grammar_.SetBody(*rule, make());
  }
  return grammar_.Ref(*rule);
}

Grammar::Node JsonText::Gap() {
  if (!layout_.is_free) return grammar_.Empty();
  return Once(gap_, [&] {
    if (layout_.white_space) return TextLike(*layout_.white_space);
    return grammar_.Repeat(grammar_.Chars(Blanks()), 0, kMaxBlanks);
  });
}

Grammar::Node JsonText::Comma() {
  if (!layout_.is_free) return grammar_.Text(", ");
  return grammar_.Sequence({Gap(), grammar_.Text(","), Gap()});
}

Grammar::Node JsonText::Colon() {
  if (!layout_.is_free) return grammar_.Text(": ");
  return grammar_.Sequence({Gap(), grammar_.Text(":"), Gap()});
}

Grammar::Node JsonText::Bracketed(char open, Grammar::Node inside, char close) {
  return grammar_.Sequence({grammar_.Text(std::string(1, open)), Gap(), inside, Gap(),
                            grammar_.Text(std::string(1, close))});
}

Grammar::Node JsonText::AnyValue() {
  return Once(value_, [&] {
    return grammar_.Choice({AnyObject(), AnyArray(), AnyString(), AnyNumber(),
                            grammar_.Text("true"), grammar_.Text("false"), grammar_.Text("null")});
  });
}

Grammar::Node JsonText::AnyObject() {
  return Once(object_, [&] {
    const auto member = grammar_.RuleOf(grammar_.Sequence({AnyString(), Colon(), AnyValue()}));
    const auto more = grammar_.Sequence({Comma(), grammar_.Ref(member)});
    const auto some =
        grammar_.Sequence({grammar_.Ref(member), grammar_.Repeat(more, 0, kUnbounded)});
    return grammar_.Choice({Bracketed('{', some, '}'),
                            grammar_.Sequence({grammar_.Text("{"), Gap(), grammar_.Text("}")})});
  });
}

Grammar::Node JsonText::AnyArray() {
  return Once(array_, [&] {
    const auto more = grammar_.Sequence({Comma(), AnyValue()});
    const auto some = grammar_.Sequence({AnyValue(), grammar_.Repeat(more, 0, kUnbounded)});
    return grammar_.Choice({Bracketed('[', some, ']'),
                            grammar_.Sequence({grammar_.Text("["), Gap(), grammar_.Text("]")})});
  });
}

// Any escape at all, also half of a surrogate pair, as the grammar of JSON has it. The closing
// quote belongs to the rule that goes on, so that inside a string it is sure where a token leads.
Grammar::Node JsonText::AnyString() {
  return Once(string_, [&] {
    const CharSet hex = HexDigits(0, 15);
    const auto unicode =
        grammar_.Sequence({grammar_.Text("u"), grammar_.Repeat(grammar_.Chars(hex), 4, 4)});
    CharSet letters(U'/');
    for (const auto& [code, letter] : kShortEscapes) letters |= CharSet(letter);
    const auto escape = grammar_.RuleOf(grammar_.Choice({grammar_.Chars(letters), unicode}));
    const Grammar::Rule rest = grammar_.AddRule();
    grammar_.SetBody(
        rest, grammar_.Choice({grammar_.Text("\""),
                               grammar_.Sequence({grammar_.Chars(RawChars()), grammar_.Ref(rest)}),
                               grammar_.Sequence({grammar_.Text("\\"), grammar_.Ref(escape),
                                                  grammar_.Ref(rest)})}));
    return grammar_.Sequence({grammar_.Text("\""), grammar_.Ref(rest)});
  });
}

Grammar::Node JsonText::AnyInteger() {
  return Once(integer_, [&] {
    const auto digits = grammar_.Repeat(grammar_.Chars(CharSet(U'0', U'9')), 0, kUnbounded);
    return grammar_.Sequence(
        {grammar_.Optional(grammar_.Text("-")),
         grammar_.Choice({grammar_.Text("0"),
                          grammar_.Sequence({grammar_.Chars(CharSet(U'1', U'9')), digits})})});
  });
}

Grammar::Node JsonText::AnyNumber() {
  return Once(number_, [&] {
    const auto digits = [&] {
      return grammar_.Repeat(grammar_.Chars(CharSet(U'0', U'9')), 1, kUnbounded);
    };
    const auto sign = grammar_.Optional(grammar_.Chars(CharSet(U'+') | CharSet(U'-')));
    const auto fraction = grammar_.Sequence({grammar_.Text("."), digits()});
    const auto exponent =
        grammar_.Sequence({grammar_.Chars(CharSet(U'e') | CharSet(U'E')), sign, digits()});
    return grammar_.Sequence(
        {AnyInteger(), grammar_.Optional(fraction), grammar_.Optional(exponent)});
  });
}

Grammar::Node JsonText::StringOfLength(int min, int max) {
  if (min == 0 && max == kUnbounded) return AnyString();
  const auto known = lengths_.find({min, max});
  if (known != lengths_.end()) return grammar_.Ref(known->second);
  // A rule for each number of characters so far.
  const int last = max == kUnbounded ? min : max;
  const CharSet all = CharSet::All();
  const auto escape = grammar_.Sequence({grammar_.Text("\\"), Escape(all)});
  const auto raw = grammar_.Chars(RawChars());
  Grammar::Rule next = grammar_.AddRule();
  for (int count = last; count >= 0; --count) {
    const Grammar::Rule rule = count == last ? next : grammar_.AddRule();
    std::vector<Grammar::Node> ways;
    if (count >= min) ways.push_back(grammar_.Text("\""));
    if (count < last || max == kUnbounded) {
      ways.push_back(grammar_.Sequence({raw, grammar_.Ref(next)}));
      ways.push_back(grammar_.Sequence({escape, grammar_.Ref(next)}));
    }
    grammar_.SetBody(rule, grammar_.Choice(std::move(ways)));
    next = rule;
  }
  const auto rule = grammar_.RuleOf(grammar_.Sequence({grammar_.Text("\""), grammar_.Ref(next)}));
  lengths_.emplace(std::pair(min, max), rule);
  return grammar_.Ref(rule);
}

Grammar::Node JsonText::StringIn(const Dfa& dfa) {
  if (dfa.is_empty()) return grammar_.Nothing();
  return grammar_.Sequence({grammar_.Text("\""), States(dfa, Spelling::kInString)});
}

Grammar::Node JsonText::StringLike(const Regex& regex) {
  return grammar_.Sequence(
      {grammar_.Text("\""), Tree(regex, regex.root, Spelling::kInString), grammar_.Text("\"")});
}

Grammar::Node JsonText::TextIn(const Dfa& dfa) {
  return dfa.is_empty() ? grammar_.Nothing() : States(dfa, Spelling::kPlain);
}

Grammar::Node JsonText::TextLike(const Regex& regex) {
  return Tree(regex, regex.root, Spelling::kPlain);
}

Grammar::Node JsonText::StringLiteral(std::string_view value) {
  std::vector<Grammar::Node> parts = {grammar_.Text("\"")};
  std::string plain;
  while (!value.empty()) {
    const CodePoint code = FirstCodePoint(value);
    value.remove_prefix(static_cast<std::size_t>(code.length));
    if (code.code < 0x7F && RawChars().Has(code.code)) {
      plain += static_cast<char>(code.code);
      continue;
    }
    if (!plain.empty()) parts.push_back(grammar_.Text(std::exchange(plain, {})));
    parts.push_back(Char(CharSet(code.code), Spelling::kInString));
  }
  parts.push_back(grammar_.Text(plain + "\""));
  return grammar_.Sequence(std::move(parts));
}

// As Python would write it; an integral value that stands in the schema with a fraction may do
// without.
Grammar::Node JsonText::NumberLiteral(const Json& value) {
  constexpr double kLargestExact = 9007199254740992.0;
  if (value.is_double() && std::fabs(value.number()) < kLargestExact &&
      value.number() == std::trunc(value.number())) {
    return grammar_.Choice({grammar_.Text(value.Dump()),
                            grammar_.Text(StrCat(static_cast<std::int64_t>(value.number())))});
  }
  return grammar_.Text(value.Dump());
}

// One code point of `chars`: as itself, or as an escape.
std::vector<Grammar::Node> JsonText::CharWays(const CharSet& chars, Spelling spelling) {
  if (spelling == Spelling::kPlain) return {grammar_.Chars(chars)};
  std::vector<Grammar::Node> ways;
  const CharSet raw = chars & RawChars();
  if (!raw.empty()) ways.push_back(grammar_.Chars(raw));
  // Printable ASCII is written as itself, unless any character at all will do.
  const CharSet escaped = chars == CharSet::All() ? chars : chars - (RawChars() & CharSet(0, 0x7E));
  if (!escaped.empty()) {
    ways.push_back(grammar_.Sequence({grammar_.Text("\\"), Escape(escaped)}));
  }
  return ways;
}

Grammar::Node JsonText::Char(const CharSet& chars, Spelling spelling) {
  return grammar_.Choice(CharWays(chars, spelling));
}

// What follows the backslash.
Grammar::Node JsonText::Escape(const CharSet& chars) {
  const auto known = escapes_.find(chars);
  if (known != escapes_.end()) return grammar_.Ref(known->second);
  CharSet letters;
  for (const auto& [code, letter] : kShortEscapes) {
    if (chars.Has(code)) letters |= CharSet(static_cast<char32_t>(letter));
  }
  if (chars.Has(U'/')) letters |= CharSet(U'/');
  std::vector<Grammar::Node> ways;
  if (!letters.empty()) ways.push_back(grammar_.Chars(letters));
  ways.push_back(grammar_.Sequence({grammar_.Text("u"), HexEscapes(chars)}));
  const auto rule = grammar_.RuleOf(grammar_.Choice(std::move(ways)));
  escapes_.emplace(chars, rule);
  return grammar_.Ref(rule);
}

Grammar::Node JsonText::HexEscapes(const CharSet& chars) {
  std::vector<Grammar::Node> ways;
  const CharSet basic = chars & CharSet(0, 0xFFFF);
  const CharSet others = chars & CharSet(0x10000, kLastCodePoint);
  for (const CharRange& range : basic.ranges()) {
    ways.push_back(Hex16(range.first, range.last));
  }
  const auto pair = [&](char32_t high_first, char32_t high_last, char32_t low_first,
                        char32_t low_last) {
    ways.push_back(grammar_.Sequence(
        {Hex16(high_first, high_last), grammar_.Text("\\u"), Hex16(low_first, low_last)}));
  };
  const auto high = [](char32_t code) { return 0xD800 + ((code - 0x10000) >> 10); };
  const auto low = [](char32_t code) { return 0xDC00 + ((code - 0x10000) & 0x3FF); };
  for (const CharRange& range : others.ranges()) {
    char32_t first = range.first;
    while (first <= range.last) {  // at most a cut-off start, whole blocks, a cut-off end
      if (high(first) == high(range.last)) {
        pair(high(first), high(first), low(first), low(range.last));
        break;
      }
      if (low(first) != 0xDC00) {
        pair(high(first), high(first), low(first), 0xDFFF);
        first = (first | 0x3FF) + 1;
        continue;
      }
      const bool is_last_whole = low(range.last) == 0xDFFF;
      const char32_t last_high = high(range.last) - (is_last_whole ? 0 : 1);
      pair(high(first), last_high, 0xDC00, 0xDFFF);
      first = 0x10000 + ((last_high + 1 - 0xD800) << 10);
    }
  }
  return grammar_.Choice(std::move(ways));
}

// Four hexadecimal digits from `first` to `last`.
Grammar::Node JsonText::Hex16(char32_t first, char32_t last) {
  struct Span {
    char32_t first, last;
    int digits;
  };
  const auto power = [](int digits) { return char32_t{1} << (4 * digits); };
  std::vector<Grammar::Node> ways;
  // Cuts [first, last] into stretches of a fixed head, one varying digit and free digits after it.
  char32_t next = first;
  while (next <= last) {
    int free_digits = 0;
    while (free_digits < 3 && next % power(free_digits + 1) == 0 &&
           next + power(free_digits + 1) - 1 <= last) {
      ++free_digits;
    }
    const char32_t unit = power(free_digits);
    char32_t digit_last = next;
    while (digit_last / power(free_digits + 1) == (digit_last + unit) / power(free_digits + 1) &&
           digit_last + 2 * unit - 1 <= last) {
      digit_last += unit;
    }
    std::vector<Grammar::Node> digits;
    for (int place = 3; place >= 0; --place) {
      const char32_t low = next >> (4 * place) & 15;
      if (place > free_digits) digits.push_back(grammar_.Chars(HexDigits(low, low)));
      if (place == free_digits) {
        digits.push_back(grammar_.Chars(HexDigits(low, digit_last >> (4 * place) & 15)));
      }
      if (place < free_digits) digits.push_back(grammar_.Chars(HexDigits(0, 15)));
    }
    ways.push_back(grammar_.Sequence(std::move(digits)));
    next = digit_last + unit;
  }
  return grammar_.Choice(std::move(ways));
}

// A rule a state, each going on to the next: right-linear. In a string the closing quote belongs to
// them; else a rule stands for what may follow but nothing, so none is empty.
Grammar::Node JsonText::States(const Dfa& dfa, Spelling spelling) {
  const bool is_string = spelling == Spelling::kInString;
  std::vector<Grammar::Rule> rules;
  rules.reserve(dfa.states().size());
  for (std::size_t i = 0; i < dfa.states().size(); ++i) rules.push_back(grammar_.AddRule());
  const auto rest = [&](std::int32_t idx) {
    const Dfa::State& state = dfa.states()[static_cast<std::size_t>(idx)];
    if (!is_string && state.transitions.empty()) return grammar_.Empty();
    const Grammar::Node more = grammar_.Ref(rules[static_cast<std::size_t>(idx)]);
    return state.accepts && !is_string ? grammar_.Optional(more) : more;
  };
  for (std::size_t i = 0; i < dfa.states().size(); ++i) {
    const Dfa::State& state = dfa.states()[i];
    std::map<std::int32_t, CharSet> by_target;
    for (const auto& [range, target] : state.transitions) {
      by_target[target] |= CharSet(range.first, range.last);
    }
    std::vector<Grammar::Node> ways;
    if (state.accepts && is_string) ways.push_back(grammar_.Text("\""));
    for (const auto& [target, chars] : by_target) {
      // One way for each spelling, so that the rule begins with characters.
      for (const Grammar::Node first : CharWays(chars, spelling)) {
        ways.push_back(grammar_.Sequence({first, rest(target)}));
      }
    }
    grammar_.SetBody(rules[i], grammar_.Choice(std::move(ways)));
  }
  return rest(0);
}

Grammar::Node JsonText::Tree(const Regex& regex, std::int32_t node_idx, Spelling spelling) {
  const RegexNode& node = regex.nodes[static_cast<std::size_t>(node_idx)];
  std::vector<Grammar::Node> parts;
  parts.reserve(node.parts.size());
  for (const std::int32_t part : node.parts) parts.push_back(Tree(regex, part, spelling));
  switch (node.kind) {
    case RegexNode::Kind::kChars:
      return Char(node.chars, spelling);
    case RegexNode::Kind::kSequence:
      return grammar_.Sequence(std::move(parts));
    case RegexNode::Kind::kChoice:
      return grammar_.Choice(std::move(parts));
    case RegexNode::Kind::kRepeat:
      return grammar_.Repeat(parts[0], node.min, node.max);
    case RegexNode::Kind::kEmpty:
    case RegexNode::Kind::kStart:
    case RegexNode::Kind::kEnd:
      break;
  }
  return grammar_.Empty();
}

}  // namespace quire::structured
