// Sets of numbers as sets of the texts that write them, without an exponent.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "formats/json.h"
#include "structured/automaton.h"

namespace quire::structured {

// A number in decimal digits: neither whole nor fraction has zeros that do not count, and whole is
// empty below 1.
struct Decimal {
  bool is_negative = false;
  std::string whole;
  std::string fraction;

  bool is_zero() const { return whole.empty() && fraction.empty(); }
};

// A JSON number; nullopt where it would take more than 400 digits.
std::optional<Decimal> DecimalOf(const Json& number);

// How a number may stand to a bound; bits.
enum Relation : unsigned { kLess = 1, kEqual = 2, kGreater = 4 };

// Numbers, with a fraction or without, that stand to `bound` in one of `relations`.
Dfa NumbersThat(unsigned relations, const Decimal& bound);

// Numbers that are a multiple of `step`, which is not 0. kResourceExhausted where that takes too
// many states.
Result<Dfa> MultiplesOf(const Decimal& step);

Dfa PlainNumbers();  // all of them
Dfa Integers();      // those written without a fraction

}  // namespace quire::structured
