#include "structured/nfa.h"

#include <algorithm>
#include <map>

#include "base/strings.h"

namespace quire::structured {
namespace {

constexpr std::size_t kMaxNfaStates = 20'000;

}  // namespace

std::int32_t Nfa::AddState() {
  states_.emplace_back();
  return static_cast<std::int32_t>(states_.size()) - 1;
}

void Nfa::AddEdge(std::int32_t from, std::int32_t to, Condition condition) {
  states_[static_cast<std::size_t>(from)].edges.push_back({condition, to});
}

Result<Nfa> Nfa::From(const Regex& regex) {
  Nfa nfa;
  const std::int32_t start = nfa.AddState();
  QUIRE_ASSIGN_OR_RETURN(nfa.accept_, nfa.Build(regex, regex.root, start));
  return nfa;
}

// Adds what leads from `from` over a text of `node`, and gives the state behind it.
Result<std::int32_t> Nfa::Build(const Regex& regex, std::int32_t node_idx, std::int32_t from) {
  if (states_.size() > kMaxNfaStates) {
    return ResourceExhausted(
        StrCat("regex: its repetitions come to more than ", kMaxNfaStates, " states"));
  }
  const RegexNode& node = regex.nodes[static_cast<std::size_t>(node_idx)];
  switch (node.kind) {
    case RegexNode::Kind::kEmpty:
      return from;
    case RegexNode::Kind::kChars: {
      const std::int32_t place = AddState();
      const std::int32_t to = AddState();
      AddEdge(from, place);
      states_[static_cast<std::size_t>(place)].chars = node.chars;
      states_[static_cast<std::size_t>(place)].target = to;
      return to;
    }
    case RegexNode::Kind::kSequence:
      for (const std::int32_t part : node.parts) {
        QUIRE_ASSIGN_OR_RETURN(from, Build(regex, part, from));
      }
      return from;
    case RegexNode::Kind::kChoice: {
      const std::int32_t to = AddState();
      for (const std::int32_t part : node.parts) {
        QUIRE_ASSIGN_OR_RETURN(const std::int32_t end, Build(regex, part, from));
        AddEdge(end, to);
      }
      return to;
    }
    case RegexNode::Kind::kRepeat:
      return BuildRepeat(regex, node, from);
    case RegexNode::Kind::kStart:
    case RegexNode::Kind::kEnd: {
      const std::int32_t to = AddState();
      AddEdge(from, to,
              node.kind == RegexNode::Kind::kStart ? Condition::kAtStart : Condition::kAtEnd);
      return to;
    }
  }
  return from;
}

Result<std::int32_t> Nfa::BuildRepeat(const Regex& regex, const RegexNode& node,
                                      std::int32_t from) {
  for (int i = 0; i < node.min; ++i) {
    QUIRE_ASSIGN_OR_RETURN(from, Build(regex, node.parts[0], from));
  }
  const std::int32_t to = AddState();
  if (node.max == kUnbounded) {
    const std::int32_t loop = AddState();
    AddEdge(from, loop);
    AddEdge(loop, to);
    QUIRE_ASSIGN_OR_RETURN(const std::int32_t end, Build(regex, node.parts[0], loop));
    AddEdge(end, loop);
    return to;
  }
  AddEdge(from, to);
  for (int i = node.min; i < node.max; ++i) {
    QUIRE_ASSIGN_OR_RETURN(from, Build(regex, node.parts[0], from));
    AddEdge(from, to);
  }
  return to;
}

Nfa::StateSet Nfa::Closure(StateSet set, bool is_at_start, bool is_at_end) const {
  std::vector<bool> is_in(states_.size());
  for (const std::int32_t state : set) is_in[static_cast<std::size_t>(state)] = true;
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (const Edge& edge : states_[static_cast<std::size_t>(set[i])].edges) {
      if (edge.condition == Condition::kAtStart && !is_at_start) continue;
      if (edge.condition == Condition::kAtEnd && !is_at_end) continue;
      if (is_in[static_cast<std::size_t>(edge.target)]) continue;
      is_in[static_cast<std::size_t>(edge.target)] = true;
      set.push_back(edge.target);
    }
  }
  std::ranges::sort(set);
  return set;
}

Nfa::StateSet Nfa::StartSet() const { return Closure({0}, true, false); }

bool Nfa::AcceptsAtEnd(const StateSet& set, bool is_at_start) const {
  const StateSet at_end = Closure(set, is_at_start, true);
  return std::ranges::binary_search(at_end, accept_);
}

void Nfa::Step(const StateSet& set, std::vector<std::pair<CharRange, StateSet>>& steps) const {
  std::map<char32_t, std::pair<StateSet, StateSet>> edges;  // targets that begin and that end there
  for (const std::int32_t idx : set) {
    const State& state = states_[static_cast<std::size_t>(idx)];
    for (const CharRange& range : state.chars.ranges()) {
      edges[range.first].first.push_back(state.target);
      edges[range.last + 1].second.push_back(state.target);
    }
  }
  std::map<std::int32_t, int> current;
  for (auto edge = edges.begin(); edge != edges.end(); ++edge) {
    for (const std::int32_t target : edge->second.second) {
      if (--current[target] == 0) current.erase(target);
    }
    for (const std::int32_t target : edge->second.first) ++current[target];
    const auto next = std::next(edge);
    if (current.empty() || next == edges.end()) continue;
    StateSet targets;
    for (const auto& [target, count] : current) targets.push_back(target);
    steps.emplace_back(CharRange{edge->first, next->first - 1},
                       Closure(std::move(targets), false, false));
  }
}

}  // namespace quire::structured
