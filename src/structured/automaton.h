// Deterministic automata over code points: sets of texts that can be combined exactly.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "structured/char_set.h"
#include "structured/regex.h"

namespace quire::structured {

inline constexpr std::int32_t kNoState = -1;
inline constexpr std::size_t kMaxStates = 4000;  // of any automaton

// A set of texts. Transitions of a state are disjoint and sorted; where none is, the text does not
// belong to the set. State 0 is the start. No states: the empty set.
//
// From every state an accepting one can be reached, so a set without states is the empty one.
class Dfa {
 public:
  struct Transition {
    CharRange range;
    std::int32_t target = kNoState;
  };
  struct State {
    std::vector<Transition> transitions;
    bool accepts = false;
  };

  // kResourceExhausted where it would need more than kMaxStates.
  static Result<Dfa> From(const Regex& regex);
  static Dfa AllTexts();
  static Dfa OfWords(const std::vector<std::string_view>& words);
  // Texts of at least `min` and at most `max` code points (kUnbounded).
  static Result<Dfa> OfLength(std::int64_t min, std::int64_t max);
  // Made by hand; states from which nothing is accepted are taken out.
  static Dfa FromStates(std::vector<State> states);

  Result<Dfa> And(const Dfa& other) const;
  Result<Dfa> AndNot(const Dfa& other) const;
  Result<Dfa> Not() const { return AllTexts().AndNot(*this); }
  // The same set with the fewest states.
  Dfa Minimized() const;

  bool is_empty() const { return states_.empty(); }
  bool Accepts(std::string_view text) const;  // of valid UTF-8
  const std::vector<State>& states() const { return states_; }

 private:
  enum class Op { kAnd, kAndNot };
  Result<Dfa> Combine(const Dfa& other, Op op) const;

  std::vector<State> states_;
};

}  // namespace quire::structured
