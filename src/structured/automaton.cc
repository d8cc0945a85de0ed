#include "structured/automaton.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/strings.h"
#include "structured/nfa.h"
#include "structured/work_budget.h"
#include "tokenizer/utf8.h"

namespace quire::structured {
namespace {

Status TooLarge() {
  return ResourceExhausted(
      StrCat("pattern: needs an automaton of more than ", kMaxStates, " states"));
}

// States from which an accepting one can be reached.
std::vector<bool> LiveStates(const std::vector<Dfa::State>& states) {
  std::vector<std::vector<std::int32_t>> sources(states.size());
  std::vector<std::int32_t> pending;
  std::vector<bool> is_live(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (const auto& transition : states[i].transitions) {
      sources[static_cast<std::size_t>(transition.target)].push_back(static_cast<std::int32_t>(i));
    }
    if (states[i].accepts) {
      is_live[i] = true;
      pending.push_back(static_cast<std::int32_t>(i));
    }
  }
  while (!pending.empty()) {
    const auto state = static_cast<std::size_t>(pending.back());
    pending.pop_back();
    for (const std::int32_t source : sources[state]) {
      if (is_live[static_cast<std::size_t>(source)]) continue;
      is_live[static_cast<std::size_t>(source)] = true;
      pending.push_back(source);
    }
  }
  return is_live;
}

std::int32_t TargetOf(const Dfa::State& state, char32_t code) {
  for (const auto& [range, target] : state.transitions) {
    if (code >= range.first && code <= range.last) return target;
  }
  return kNoState;
}

// Ranges next to each other with one target become one.
void AddTransition(CharRange range, std::int32_t target, Dfa::State& state) {
  if (!state.transitions.empty()) {
    Dfa::Transition& last = state.transitions.back();
    if (last.target == target && last.range.last + 1 == range.first) {
      last.range.last = range.last;
      return;
    }
  }
  state.transitions.push_back({range, target});
}

// Calls visit(range, a's target, b's target) for each stretch of code points on which neither
// changes; kNoState where there is no transition.
template <typename Visitor>
void VisitPairs(const Dfa::State* a, const Dfa::State* b, Visitor&& visit) {
  static const std::vector<Dfa::Transition> kNone;
  const auto& left = a != nullptr ? a->transitions : kNone;
  const auto& right = b != nullptr ? b->transitions : kNone;
  std::vector<char32_t> edges;
  for (const auto* side : {&left, &right}) {
    for (const auto& transition : *side) {
      edges.push_back(transition.range.first);
      edges.push_back(transition.range.last + 1);
    }
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  auto l = left.begin();
  auto r = right.begin();
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const char32_t code = edges[i];
    while (l != left.end() && l->range.last < code) ++l;
    while (r != right.end() && r->range.last < code) ++r;
    const std::int32_t to_left = l != left.end() && l->range.first <= code ? l->target : kNoState;
    const std::int32_t to_right = r != right.end() && r->range.first <= code ? r->target : kNoState;
    visit(CharRange{code, edges[i + 1] - 1}, to_left, to_right);
  }
}

}  // namespace

Dfa Dfa::FromStates(std::vector<State> states) {
  const std::vector<bool> is_live = LiveStates(states);
  Dfa dfa;
  if (states.empty() || !is_live[0]) return dfa;
  std::vector<std::int32_t> places(states.size(), kNoState);
  std::int32_t count = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (is_live[i]) places[i] = count++;
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!is_live[i]) continue;
    State& state = dfa.states_.emplace_back();
    state.accepts = states[i].accepts;
    for (const auto& [range, target] : states[i].transitions) {
      const std::int32_t place = places[static_cast<std::size_t>(target)];
      if (place != kNoState) AddTransition(range, place, state);
    }
  }
  return dfa;
}

Result<Dfa> Dfa::From(const Regex& regex) {
  QUIRE_ASSIGN_OR_RETURN(const Nfa nfa, Nfa::From(regex));
  std::vector<State> states;
  std::map<Nfa::StateSet, std::int32_t> places;
  std::vector<Nfa::StateSet> sets = {nfa.StartSet()};
  std::size_t num_steps = 0;
  // The start is a state of its own: only there ^ holds.
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets.size() > kMaxStates) return TooLarge();
    QUIRE_RETURN_IF_ERROR(WorkBudget::Check());
    State& state = states.emplace_back();
    state.accepts = nfa.AcceptsAtEnd(sets[i], i == 0);
    std::vector<std::pair<CharRange, Nfa::StateSet>> steps;
    nfa.Step(sets[i], steps);
    for (auto& [range, set] : steps) {
      num_steps += set.size();
      const auto [place, is_new] =
          places.try_emplace(std::move(set), static_cast<std::int32_t>(sets.size()));
      if (is_new) sets.push_back(place->first);
      AddTransition(range, place->second, states[i]);
    }
    if (num_steps > kMaxStates * 1000) return TooLarge();
  }
  return FromStates(std::move(states)).Minimized();
}

Dfa Dfa::AllTexts() {
  Dfa dfa;
  State& state = dfa.states_.emplace_back();
  state.accepts = true;
  const CharSet all = CharSet::All();
  for (const CharRange& range : all.ranges()) state.transitions.push_back({range, 0});
  return dfa;
}

Dfa Dfa::OfWords(const std::vector<std::string_view>& words) {
  std::vector<State> states(1);
  std::vector<std::map<char32_t, std::int32_t>> children(1);
  for (std::string_view word : words) {
    std::int32_t at = 0;
    while (!word.empty()) {
      const CodePoint code = FirstCodePoint(word);
      word.remove_prefix(static_cast<std::size_t>(code.length));
      const auto [child, is_new] = children[static_cast<std::size_t>(at)].try_emplace(
          code.code, static_cast<std::int32_t>(states.size()));
      at = child->second;
      if (!is_new) continue;
      states.emplace_back();
      children.emplace_back();
    }
    states[static_cast<std::size_t>(at)].accepts = true;
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (const auto& [code, child] : children[i]) AddTransition({code, code}, child, states[i]);
  }
  return words.empty() ? Dfa() : FromStates(std::move(states));
}

Result<Dfa> Dfa::OfLength(std::int64_t min, std::int64_t max) {
  const std::int64_t last = max == kUnbounded ? min : max;
  if (last >= static_cast<std::int64_t>(kMaxStates)) return TooLarge();
  if (max != kUnbounded && max < min) return Dfa();
  const CharSet all = CharSet::All();
  std::vector<State> states(static_cast<std::size_t>(last) + 1);
  for (std::int64_t i = 0; i <= last; ++i) {
    State& state = states[static_cast<std::size_t>(i)];
    state.accepts = i >= min;
    const std::int64_t next = i < last ? i + 1 : i;
    if (i == last && max != kUnbounded) continue;
    for (const CharRange& range : all.ranges()) {
      state.transitions.push_back({range, static_cast<std::int32_t>(next)});
    }
  }
  return FromStates(std::move(states));
}

Result<Dfa> Dfa::And(const Dfa& other) const { return Combine(other, Op::kAnd); }
Result<Dfa> Dfa::AndNot(const Dfa& other) const { return Combine(other, Op::kAndNot); }

Result<Dfa> Dfa::Combine(const Dfa& other, Op op) const {
  if (is_empty() || (other.is_empty() && op == Op::kAnd)) return Dfa();
  if (other.is_empty()) return *this;
  using Pair = std::pair<std::int32_t, std::int32_t>;
  std::map<Pair, std::int32_t> places = {{{0, 0}, 0}};
  std::vector<Pair> pairs = {{0, 0}};
  std::vector<State> states;
  const auto at = [](const Dfa& dfa, std::int32_t idx) {
    return idx == kNoState ? nullptr : &dfa.states_[static_cast<std::size_t>(idx)];
  };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > kMaxStates) return TooLarge();
    QUIRE_RETURN_IF_ERROR(WorkBudget::Check());
    const State* a = at(*this, pairs[i].first);
    const State* b = at(other, pairs[i].second);
    State state;
    const bool in_other = b != nullptr && b->accepts;
    state.accepts = a->accepts && in_other == (op == Op::kAnd);
    VisitPairs(a, b, [&](CharRange range, std::int32_t to_a, std::int32_t to_b) {
      if (to_a == kNoState || (to_b == kNoState && op == Op::kAnd)) return;
      const auto [place, is_new] =
          places.try_emplace({to_a, to_b}, static_cast<std::int32_t>(pairs.size()));
      if (is_new) pairs.push_back(place->first);
      AddTransition(range, place->second, state);
    });
    states.push_back(std::move(state));
  }
  return FromStates(std::move(states)).Minimized();
}

// Moore's: states are alike until a transition tells them apart.
Dfa Dfa::Minimized() const {
  std::vector<std::int32_t> groups(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) groups[i] = states_[i].accepts ? 1 : 0;
  std::size_t num_groups = 0;
  for (;;) {
    if (!WorkBudget::Check().ok()) return *this;  // the same set, and of no more use
    using Signature = std::pair<std::int32_t, std::vector<std::pair<CharRange, std::int32_t>>>;
    std::map<Signature, std::int32_t> places;
    std::vector<std::int32_t> refined(states_.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Signature signature{groups[i], {}};
      for (const auto& [range, target] : states_[i].transitions) {
        const std::int32_t group = groups[static_cast<std::size_t>(target)];
        auto& list = signature.second;
        if (!list.empty() && list.back().second == group &&
            list.back().first.last + 1 == range.first) {
          list.back().first.last = range.last;
        } else {
          list.emplace_back(range, group);
        }
      }
      refined[i] =
          places.try_emplace(std::move(signature), static_cast<std::int32_t>(places.size()))
              .first->second;
    }
    groups = std::move(refined);
    if (places.size() == num_groups) break;
    num_groups = places.size();
  }
  std::vector<State> states(num_groups);
  std::vector<bool> is_made(num_groups);
  for (std::size_t i = 0; i < states_.size(); ++i) {  // state 0 has group 0: it is met first
    const auto group = static_cast<std::size_t>(groups[i]);
    if (is_made[group]) continue;
    is_made[group] = true;
    states[group].accepts = states_[i].accepts;
    for (const auto& [range, target] : states_[i].transitions) {
      AddTransition(range, groups[static_cast<std::size_t>(target)], states[group]);
    }
  }
  return FromStates(std::move(states));
}

bool Dfa::Accepts(std::string_view text) const {
  if (is_empty()) return false;
  std::int32_t at = 0;
  while (!text.empty()) {
    const CodePoint code = FirstCodePoint(text);
    text.remove_prefix(static_cast<std::size_t>(code.length));
    at = TargetOf(states_[static_cast<std::size_t>(at)], code.code);
    if (at == kNoState) return false;
  }
  return states_[static_cast<std::size_t>(at)].accepts;
}

}  // namespace quire::structured
