// The shortest text of a grammar.
#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "structured/grammar.h"
#include "tokenizer/utf8.h"

namespace quire::structured {
namespace {

constexpr std::int64_t kNever = INT64_MAX / 4;  // no text at all

std::int64_t Saturated(std::int64_t length) { return std::min(length, kNever); }

}  // namespace

// What the lengths of the parts make of a node; kNever where one that it needs has none yet.
std::int64_t Grammar::LengthOf(const Item& item, const std::vector<std::int64_t>& lengths) const {
  const auto of = [&](Node part) { return lengths[static_cast<std::size_t>(part)]; };
  std::int64_t length = 0;
  switch (item.kind) {
    case Kind::kNothing:
      return kNever;
    case Kind::kText:
      return static_cast<std::int64_t>(item.text.size());
    case Kind::kChars:
      return 1;
    case Kind::kSequence:
      for (const Node part : item.parts) length = Saturated(length + of(part));
      return length;
    case Kind::kChoice:
      length = kNever;
      for (const Node part : item.parts) length = std::min(length, of(part));
      return length;
    case Kind::kRepeat:
      if (item.min == 0) return 0;
      return of(item.parts[0]) >= kNever / item.min ? kNever : of(item.parts[0]) * item.min;
    case Kind::kRef: {
      const Node body = bodies_[static_cast<std::size_t>(item.min)];
      return body < 0 ? kNever : of(body);
    }
    case Kind::kDispatch:
      return 0;
  }
  return kNever;
}

// Knuth's: the shortest node that is not settled yet can become no shorter, so each is settled
// once.
std::vector<std::int64_t> Grammar::ShortestLengths() const {
  std::vector<std::int64_t> lengths(nodes_.size(), kNever);
  std::vector<std::vector<Node>> holders(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = static_cast<Node>(i);
    for (const Node part : nodes_[i].parts) holders[static_cast<std::size_t>(part)].push_back(node);
    if (nodes_[i].kind != Kind::kRef) continue;
    const Node body = bodies_[static_cast<std::size_t>(nodes_[i].min)];
    if (body >= 0) holders[static_cast<std::size_t>(body)].push_back(node);
  }
  using Entry = std::pair<std::int64_t, Node>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending;
  const auto look = [&](Node node) {
    const std::int64_t length = LengthOf(at(node), lengths);
    if (length < lengths[static_cast<std::size_t>(node)]) pending.emplace(length, node);
  };
  // A sequence of many parts is looked at when its last one is settled, not at each.
  std::vector<std::size_t> num_open(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    num_open[i] = nodes_[i].parts.size();
    look(static_cast<Node>(i));
  }
  while (!pending.empty()) {
    const auto [length, node] = pending.top();
    pending.pop();
    auto& settled = lengths[static_cast<std::size_t>(node)];
    if (settled != kNever) continue;
    settled = length;
    for (const Node holder : holders[static_cast<std::size_t>(node)]) {
      const auto place = static_cast<std::size_t>(holder);
      if (nodes_[place].kind == Kind::kSequence) {
        if (--num_open[place] == 0) look(holder);
      } else if (lengths[place] == kNever) {
        pending.emplace(
            nodes_[place].kind == Kind::kChoice ? length : LengthOf(nodes_[place], lengths),
            holder);
      }
    }
  }
  return lengths;
}

std::string Grammar::ShortestText(std::size_t max_bytes) const {
  const std::vector<std::int64_t> lengths = ShortestLengths();
  const auto of = [&](Node node) { return lengths[static_cast<std::size_t>(node)]; };
  std::string text;
  std::vector<Node> pending = {bodies_[static_cast<std::size_t>(root_)]};
  if (pending[0] < 0 || of(pending[0]) == kNever) return text;
  while (!pending.empty() && text.size() < max_bytes) {
    const Item& item = at(pending.back());
    const bool is_empty = of(pending.back()) == 0;
    pending.pop_back();
    if (is_empty) continue;
    switch (item.kind) {
      case Kind::kText:
        text += item.text;
        break;
      case Kind::kChars:
        AppendUtf8(text, item.chars.ranges()[0].first);
        break;
      case Kind::kSequence:
        pending.insert(pending.end(), item.parts.rbegin(), item.parts.rend());
        break;
      case Kind::kChoice:
        pending.push_back(*std::ranges::min_element(item.parts, {}, of));
        break;
      case Kind::kRepeat:
        pending.insert(pending.end(), static_cast<std::size_t>(item.min), item.parts[0]);
        break;
      case Kind::kRef:
        pending.push_back(bodies_[static_cast<std::size_t>(item.min)]);
        break;
      case Kind::kNothing:
      case Kind::kDispatch:
        break;
    }
  }
  return text;
}

}  // namespace quire::structured
