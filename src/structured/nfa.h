// Nondeterministic automata, on the way from a regular expression to a Dfa.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "structured/char_set.h"
#include "structured/regex.h"

namespace quire::structured {

class Nfa {
 public:
  using StateSet = std::vector<std::int32_t>;  // sorted

  // kResourceExhausted where counted repetitions make it too large.
  static Result<Nfa> From(const Regex& regex);

  // The states at the start of a text, where ^ holds.
  StateSet StartSet() const;
  // Whether a text may end in `set`; `is_at_start`: it is the empty one.
  bool AcceptsAtEnd(const StateSet& set, bool is_at_start) const;
  // The states after one code point, for each stretch of code points that leads to the same ones,
  // in rising order; stretches that lead nowhere are left out.
  void Step(const StateSet& set, std::vector<std::pair<CharRange, StateSet>>& steps) const;

 private:
  enum class Condition { kNone, kAtStart, kAtEnd };
  struct Edge {
    Condition condition = Condition::kNone;
    std::int32_t target = 0;
  };
  struct State {
    CharSet chars;             // empty: none leads on
    std::int32_t target = -1;  // of chars
    std::vector<Edge> edges;   // without a code point
  };

  std::int32_t AddState();
  void AddEdge(std::int32_t from, std::int32_t to, Condition condition = Condition::kNone);
  Result<std::int32_t> Build(const Regex& regex, std::int32_t node, std::int32_t from);
  Result<std::int32_t> BuildRepeat(const Regex& regex, const RegexNode& node, std::int32_t from);
  StateSet Closure(StateSet set, bool is_at_start, bool is_at_end) const;

  std::vector<State> states_;
  std::int32_t accept_ = 0;
};

}  // namespace quire::structured
