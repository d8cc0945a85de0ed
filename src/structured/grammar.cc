#include "structured/grammar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire::structured {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr int kMaxCount = 128;  // that the backend unfolds

// A code point as string literals and classes of the EBNF both read it.
void WriteCodePoint(char32_t code, std::string& out) {
  const bool is_plain = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
                        (code >= '0' && code <= '9') || code == ' ' || code == '_';
  if (is_plain) {
    out += static_cast<char>(code);
    return;
  }
  // Not \x, which goes on as long as digits follow.
  const int digits = code < 0x10000 ? 4 : 8;
  out += digits == 4 ? "\\u" : "\\U";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kDigits[code >> shift & 15];
}

void WriteText(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const CodePoint code = FirstCodePoint(text);
    text.remove_prefix(static_cast<std::size_t>(code.length));
    WriteCodePoint(code.code, out);
  }
  out += '"';
}

void WriteClass(const CharSet& chars, std::string& out) {
  out += '[';
  for (const CharRange& range : chars.ranges()) {
    WriteCodePoint(range.first, out);
    if (range.last == range.first) continue;
    out += '-';
    WriteCodePoint(range.last, out);
  }
  out += ']';
}

std::string NameOf(Grammar::Rule rule) { return StrCat("r", rule); }

}  // namespace

// What a rule that was made for a long repetition counts; others count anew.
std::int64_t Grammar::ProductOf(const Item& item) const {
  constexpr std::int64_t kCap = std::int64_t{1} << 40;
  std::int64_t product = 1;
  for (const Node part : item.parts) {
    product = std::max(product, products_[static_cast<std::size_t>(part)]);
  }
  if (item.kind == Kind::kRef) return rule_products_[static_cast<std::size_t>(item.min)];
  if (item.kind != Kind::kRepeat) return product;
  return std::min(kCap, product * std::max({1, item.min, item.max}));
}

Grammar::Node Grammar::Add(Item item) {
  products_.push_back(ProductOf(item));
  nodes_.push_back(std::move(item));
  return static_cast<Node>(nodes_.size()) - 1;
}

Grammar::Node Grammar::Empty() { return Add({.kind = Kind::kText}); }
Grammar::Node Grammar::Nothing() { return Add({.kind = Kind::kNothing}); }
Grammar::Node Grammar::Text(std::string_view utf8) {
  return Add({.kind = Kind::kText, .text = std::string(utf8)});
}
Grammar::Node Grammar::Chars(CharSet chars) {
  if (chars.empty()) return Nothing();
  return Add({.kind = Kind::kChars, .chars = std::move(chars)});
}
Grammar::Node Grammar::Sequence(std::vector<Node> parts) {
  if (parts.size() == 1) return parts[0];
  return parts.empty() ? Empty() : Add({.kind = Kind::kSequence, .parts = std::move(parts)});
}
Grammar::Node Grammar::Choice(std::vector<Node> parts) {
  if (parts.size() == 1) return parts[0];
  return parts.empty() ? Nothing() : Add({.kind = Kind::kChoice, .parts = std::move(parts)});
}
Grammar::Node Grammar::Repeat(Node part, int min, int max) {
  if (min == 1 && max == 1) return part;
  if (max == 0) return Empty();
  if (min > kMaxCount || max > kMaxCount) return LongRepeat(part, min, max);
  return Counted(part, min, max);
}
Grammar::Node Grammar::Counted(Node part, int min, int max) {
  if (min == 1 && max == 1) return part;
  if (max == 0) return Empty();
  return Add({.kind = Kind::kRepeat, .parts = {part}, .min = min, .max = max});
}

Grammar::Node Grammar::LongRepeat(Node part, int min, int max) {
  const std::int64_t product =
      ProductOf({.kind = Kind::kRepeat, .parts = {part}, .min = min, .max = max});
  if (at(part).kind != Kind::kChars) {  // written twice a block, so it must be short
    const std::int64_t inner = products_[static_cast<std::size_t>(part)];
    part = Ref(RuleOf(part));
    products_.back() = inner;
  }
  Node node = max == kUnbounded ? Counted(part, 0, max) : UpTo(part, max - min, product);
  node = Sequence({Counted(part, min % kMaxCount, min % kMaxCount), node});
  for (int i = 0; i < min / kMaxCount; ++i) {
    node = Block(Sequence({Counted(part, kMaxCount, kMaxCount), node}), product);
  }
  return node;
}

// At most `max` of `part`.
Grammar::Node Grammar::UpTo(Node part, int max, std::int64_t product) {
  Node node = Counted(part, 0, max % kMaxCount);
  for (int i = 0; i < max / kMaxCount; ++i) {
    const Node whole = Sequence({Counted(part, kMaxCount, kMaxCount), node});
    node = Block(Choice({Counted(part, 0, kMaxCount - 1), whole}), product);
  }
  return node;
}

// A reference to a rule of its own that counts as `product`.
Grammar::Node Grammar::Block(Node body, std::int64_t product) {
  const Rule rule = RuleOf(body);
  rule_products_[static_cast<std::size_t>(rule)] = product;
  return Ref(rule);
}
Grammar::Node Grammar::Ref(Rule rule) { return Add({.kind = Kind::kRef, .min = rule}); }
Grammar::Node Grammar::Dispatch(std::vector<Trigger> triggers) {
  return Add({.kind = Kind::kDispatch, .triggers = std::move(triggers)});
}

Grammar::Rule Grammar::AddRule() {
  bodies_.push_back(-1);
  rule_products_.push_back(1);
  return static_cast<Rule>(bodies_.size()) - 1;
}

Grammar::Rule Grammar::RuleOf(Node body) {
  const Rule rule = AddRule();
  SetBody(rule, body);
  return rule;
}

std::int64_t Grammar::RepetitionProduct() const {
  std::int64_t largest = 1;
  for (const std::int64_t product : products_) largest = std::max(largest, product);
  return largest;
}

bool Grammar::IsProductive(const Item& item, const Productive& productive) const {
  const auto is_good = [&](Node part) { return productive.nodes[static_cast<std::size_t>(part)]; };
  switch (item.kind) {
    case Kind::kNothing:
      return false;
    case Kind::kText:
    case Kind::kChars:
    case Kind::kDispatch:
      return true;
    case Kind::kSequence:
      return std::ranges::all_of(item.parts, is_good);
    case Kind::kChoice:
      return std::ranges::any_of(item.parts, is_good);
    case Kind::kRepeat:
      return item.min == 0 || is_good(item.parts[0]);
    case Kind::kRef:
      return productive.rules[static_cast<std::size_t>(item.min)];
  }
  return false;
}

// Propagates from the leaves up; each node is looked at again only when a part became productive.
Grammar::Productive Grammar::FindProductive() const {
  Productive productive{std::vector<bool>(nodes_.size()), std::vector<bool>(bodies_.size())};
  std::vector<std::vector<Node>> holders(nodes_.size());
  std::vector<std::vector<Node>> refs(bodies_.size());
  std::vector<std::vector<Rule>> rules_of(nodes_.size());
  std::vector<Node> pending;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = static_cast<Node>(i);
    for (const Node part : nodes_[i].parts) holders[static_cast<std::size_t>(part)].push_back(node);
    if (nodes_[i].kind == Kind::kRef) refs[static_cast<std::size_t>(nodes_[i].min)].push_back(node);
    pending.push_back(node);
  }
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (bodies_[i] >= 0) {
      rules_of[static_cast<std::size_t>(bodies_[i])].push_back(static_cast<Rule>(i));
    }
  }
  while (!pending.empty()) {
    const auto node = static_cast<std::size_t>(pending.back());
    pending.pop_back();
    if (productive.nodes[node] || !IsProductive(nodes_[node], productive)) continue;
    productive.nodes[node] = true;
    pending.insert(pending.end(), holders[node].begin(), holders[node].end());
    for (const Rule rule : rules_of[node]) {
      productive.rules[static_cast<std::size_t>(rule)] = true;
      const auto& more = refs[static_cast<std::size_t>(rule)];
      pending.insert(pending.end(), more.begin(), more.end());
    }
  }
  return productive;
}

bool Grammar::is_productive() const {
  return FindProductive().rules[static_cast<std::size_t>(root_)];
}

std::vector<Grammar::Rule> Grammar::FindReachable(const Productive& productive) const {
  std::vector<bool> is_seen(bodies_.size());
  std::vector<Rule> rules = {root_};
  is_seen[static_cast<std::size_t>(root_)] = true;
  const auto visit = [&](Rule rule) {
    if (is_seen[static_cast<std::size_t>(rule)]) return;
    is_seen[static_cast<std::size_t>(rule)] = true;
    rules.push_back(rule);
  };
  for (std::size_t i = 0; i < rules.size(); ++i) {
    std::vector<Node> pending = {bodies_[static_cast<std::size_t>(rules[i])]};
    while (!pending.empty()) {
      const Node node = pending.back();
      pending.pop_back();
      if (!productive.nodes[static_cast<std::size_t>(node)]) continue;
      const Item& item = at(node);
      if (item.kind == Kind::kRef) visit(item.min);
      for (const Trigger& trigger : item.triggers) visit(trigger.rule);
      pending.insert(pending.end(), item.parts.begin(), item.parts.end());
    }
  }
  return rules;
}

void Grammar::WriteParts(const Item& item, const Productive& productive, bool is_inner,
                         std::string& out) const {
  if (is_inner) out += '(';
  bool is_first = true;
  for (const Node part : item.parts) {
    if (!productive.nodes[static_cast<std::size_t>(part)]) continue;  // of a choice
    if (!is_first) out += item.kind == Kind::kChoice ? " | " : " ";
    is_first = false;
    Write(part, productive, true, out);
  }
  if (is_inner) out += ')';
}

void Grammar::Write(Node node, const Productive& productive, bool is_inner,
                    std::string& out) const {
  const Item& item = at(node);
  switch (item.kind) {
    case Kind::kNothing:
      return;
    case Kind::kText:
      return WriteText(item.text, out);
    case Kind::kChars:
      return WriteClass(item.chars, out);
    case Kind::kSequence:
    case Kind::kChoice:
      return WriteParts(item, productive, is_inner, out);
    case Kind::kRef:
      out += NameOf(item.min);
      return;
    case Kind::kRepeat: {
      if (!productive.nodes[static_cast<std::size_t>(item.parts[0])]) return WriteText("", out);
      const bool is_repeat = at(item.parts[0]).kind == Kind::kRepeat;  // one is read at a time
      if (is_repeat) out += '(';
      Write(item.parts[0], productive, true, out);
      if (is_repeat) out += ')';
      if (item.max == kUnbounded) {
        out += item.min == 0 ? "*" : item.min == 1 ? "+" : StrCat("{", item.min, ",}");
      } else {
        out += item.min == 0 && item.max == 1 ? "?" : StrCat("{", item.min, ",", item.max, "}");
      }
      return;
    }
    case Kind::kDispatch: {
      out += "TagDispatch(";
      for (const Trigger& trigger : item.triggers) {
        out += '(';
        WriteText(trigger.text, out);
        out += StrCat(", ", NameOf(trigger.rule), "), ");
      }
      out += "loop_after_dispatch=true)";
      return;
    }
  }
}

Result<std::string> Grammar::ToEbnf() const {
  const Productive productive = FindProductive();
  if (!productive.rules[static_cast<std::size_t>(root_)]) {
    return InvalidArgument("admits no text at all");
  }
  std::string out = StrCat("root ::= ", NameOf(root_), "\n");
  for (const Rule rule : FindReachable(productive)) {
    out += StrCat(NameOf(rule), " ::= ");
    Write(bodies_[static_cast<std::size_t>(rule)], productive, false, out);
    out += '\n';
  }
  return out;
}

}  // namespace quire::structured
