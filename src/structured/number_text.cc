#include "structured/number_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace quire::structured {
namespace {

constexpr int kMaxDigits = 400;

using States = std::vector<Dfa::State>;

std::int32_t AddState(bool accepts, States& states) {
  states.emplace_back().accepts = accepts;
  return static_cast<std::int32_t>(states.size()) - 1;
}

void AddStep(std::int32_t from, char32_t first, char32_t last, std::int32_t to, States& states) {
  if (first > last) return;
  states[static_cast<std::size_t>(from)].transitions.push_back({{first, last}, to});
}

// Steps over digits below, equal to and above `digit`.
void AddDigitSteps(std::int32_t from, char digit, const std::array<std::int32_t, 3>& to,
                   States& states) {
  const auto code = static_cast<char32_t>(digit);
  AddStep(from, U'0', code - 1, to[0], states);
  AddStep(from, code, code, to[1], states);
  AddStep(from, code + 1, U'9', to[2], states);
}

unsigned Mirrored(unsigned relation) {
  return relation == kLess ? kGreater : relation == kGreater ? kLess : relation;
}

// Adds the texts of numbers without a sign whose relation to a bound without a sign is one of
// `relations`.
class MagnitudeBuilder {
 public:
  MagnitudeBuilder(unsigned relations, const Decimal& bound, States& states)
      : relations_(relations),
        whole_(bound.whole.empty() ? "0" : bound.whole),
        fraction_(bound.fraction),
        states_(states) {}

  // The state before the first digit.
  std::int32_t Build() {
    BuildFractions();
    const int length = static_cast<int>(whole_.size());
    // Longer than the bound: greater.
    const std::int32_t longer = AddState(Accepts(kGreater), states_);
    AddStep(longer, U'.', U'.', point_greater_, states_);
    AddStep(longer, U'0', U'9', longer, states_);
    // Of the bound's length: the digits decide, then the fraction.
    std::array<std::int32_t, 3> next{};
    for (const unsigned relation : {kLess, kEqual, kGreater}) {
      const std::int32_t state = AddState(AcceptsWhole(relation), states_);
      AddStep(state, U'.', U'.', PointOf(relation), states_);
      AddStep(state, U'0', U'9', longer, states_);
      next[Place(relation)] = state;
    }
    const std::int32_t zero = MakeZero();
    for (int read = length - 1; read >= 1; --read) next = MakeShorter(read, next);
    const std::int32_t start = AddState(false, states_);
    AddStep(start, U'0', U'0', zero, states_);
    const auto first = static_cast<char32_t>(whole_[0]);
    AddStep(start, U'1', first - 1, next[0], states_);
    if (first >= U'1') AddStep(start, first, first, next[1], states_);
    AddStep(start, std::max<char32_t>(first + 1, U'1'), U'9', next[2], states_);
    return start;
  }

 private:
  static std::size_t Place(unsigned relation) {
    return relation == kLess ? 0 : relation == kEqual ? 1 : 2;
  }
  bool Accepts(unsigned relation) const { return (relations_ & relation) != 0; }
  // Whether a number may end where its whole part stands so to the bound's.
  bool AcceptsWhole(unsigned relation) const {
    return Accepts(relation == kEqual && !fraction_.empty() ? kLess : relation);
  }
  std::int32_t PointOf(unsigned relation) const {
    return relation == kLess ? point_less_ : relation == kEqual ? point_equal_ : point_greater_;
  }

  // States behind the point, where a digit must follow.
  void BuildFractions() {
    const auto any = [&](unsigned relation) {
      const std::int32_t state = AddState(Accepts(relation), states_);
      AddStep(state, U'0', U'9', state, states_);
      const std::int32_t point = AddState(false, states_);
      AddStep(point, U'0', U'9', state, states_);
      return std::pair(point, state);
    };
    const auto [point_less, less] = any(kLess);
    const auto [point_greater, greater] = any(kGreater);
    point_less_ = point_less;
    point_greater_ = point_greater;
    // All of the bound's fraction read: more zeros change nothing.
    std::int32_t next = AddState(Accepts(kEqual), states_);
    AddDigitSteps(next, '0', {next, next, greater}, states_);
    if (fraction_.empty()) {
      point_equal_ = AddState(false, states_);
      AddDigitSteps(point_equal_, '0', {next, next, greater}, states_);
      return;
    }
    for (std::size_t i = fraction_.size(); i-- > 0;) {
      const std::int32_t state = AddState(i > 0 && Accepts(kLess), states_);
      AddDigitSteps(state, fraction_[i], {less, next, greater}, states_);
      next = state;
    }
    point_equal_ = next;
  }

  // After a leading zero, which no digit may follow.
  std::int32_t MakeZero() {
    const bool is_less = whole_ != "0";
    const unsigned relation = is_less ? kLess : kEqual;
    const std::int32_t state = AddState(AcceptsWhole(relation), states_);
    AddStep(state, U'.', U'.', PointOf(relation), states_);
    return state;
  }

  // After fewer digits than the bound has: less, should the number end here.
  std::array<std::int32_t, 3> MakeShorter(int read, const std::array<std::int32_t, 3>& next) {
    std::array<std::int32_t, 3> made{};
    for (std::size_t place = 0; place < 3; ++place) {
      made[place] = AddState(Accepts(kLess), states_);
      AddStep(made[place], U'.', U'.', point_less_, states_);
    }
    AddStep(made[0], U'0', U'9', next[0], states_);
    AddDigitSteps(made[1], whole_[static_cast<std::size_t>(read)], next, states_);
    AddStep(made[2], U'0', U'9', next[2], states_);
    return made;
  }

  unsigned relations_;
  std::string whole_;
  std::string fraction_;
  States& states_;
  std::int32_t point_less_ = 0;
  std::int32_t point_equal_ = 0;
  std::int32_t point_greater_ = 0;
};

// Transitions in the order that Dfa wants.
Dfa Finish(States states) {
  for (Dfa::State& state : states) {
    std::ranges::sort(state.transitions, {}, &Dfa::Transition::range);
  }
  return Dfa::FromStates(std::move(states)).Minimized();
}

}  // namespace

std::optional<Decimal> DecimalOf(const Json& number) {
  std::string text = number.Dump();
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.is_negative = true;
    text.erase(0, 1);
  }
  int exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string::npos) {
    const std::string_view digits =
        std::string_view(text).substr(text[e + 1] == '+' ? e + 2 : e + 1);
    exponent = ParseNumber<int>(digits).value_or(kMaxDigits + 1);
    text.erase(e);
  }
  if (exponent > kMaxDigits || exponent < -kMaxDigits) return std::nullopt;
  const std::size_t point = text.find('.');
  std::string whole = text.substr(0, point);
  std::string fraction = point == std::string::npos ? "" : text.substr(point + 1);
  for (; exponent > 0; --exponent) {
    whole += fraction.empty() ? '0' : fraction[0];
    if (!fraction.empty()) fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    fraction.insert(fraction.begin(), whole.empty() ? '0' : whole.back());
    if (!whole.empty()) whole.pop_back();
  }
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  decimal.whole = std::move(whole);
  decimal.fraction = std::move(fraction);
  if (decimal.is_zero()) decimal.is_negative = false;
  return decimal;
}

Dfa NumbersThat(unsigned relations, const Decimal& bound) {
  States states(1);
  const auto all = [&](unsigned relation) {
    return (relations & relation) != 0 ? unsigned{kLess | kEqual | kGreater} : 0U;
  };
  const bool is_above_zero = !bound.is_negative && !bound.is_zero();
  unsigned mirrored = 0;
  for (const unsigned relation : {kLess, kEqual, kGreater}) {
    if ((relations & relation) != 0) mirrored |= Mirrored(relation);
  }
  const unsigned positive = bound.is_negative ? all(kGreater) : relations;
  const unsigned negative = is_above_zero ? all(kLess) : mirrored;
  const std::int32_t plain = MagnitudeBuilder(positive, bound, states).Build();
  const std::int32_t signed_start = MagnitudeBuilder(negative, bound, states).Build();
  states[0].transitions = states[static_cast<std::size_t>(plain)].transitions;
  AddStep(0, U'-', U'-', signed_start, states);
  return Finish(std::move(states));
}

Result<Dfa> MultiplesOf(const Decimal& step) {
  const std::string digits = step.whole + step.fraction;
  const auto places = step.fraction.size();
  const std::optional<std::int64_t> unit = ParseNumber<std::int64_t>(digits);
  if (!unit || *unit == 0 || static_cast<std::size_t>(*unit) * (places + 2) > kMaxStates) {
    return ResourceExhausted("multipleOf: needs too many states");
  }
  const std::int64_t d = *unit;
  States states(1);
  // state 1 + r: whole digits so far leave r; then a layer for each place of the fraction.
  const auto at = [&](std::size_t layer, std::int64_t rest) {
    return static_cast<std::int32_t>(1 + static_cast<std::int64_t>(layer) * d + rest);
  };
  const auto scaled = [&](std::int64_t rest, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) rest = rest * 10 % d;
    return rest;
  };
  for (std::size_t layer = 0; layer <= places; ++layer) {
    for (std::int64_t rest = 0; rest < d; ++rest) {
      AddState(scaled(rest, places - layer) == 0, states);
    }
  }
  const std::int32_t zeros = AddState(true, states);
  AddStep(zeros, U'0', U'0', zeros, states);
  const std::int32_t zero = AddState(true, states);
  const std::int32_t sign = AddState(false, states);
  for (std::int64_t rest = 0; rest < d; ++rest) {
    const std::int32_t point = AddState(false, states);
    for (char32_t digit = 0; digit < 10; ++digit) {
      const std::int64_t next = (rest * 10 + digit) % d;
      AddStep(at(0, rest), U'0' + digit, U'0' + digit, at(0, next), states);
      if (places > 0) AddStep(point, U'0' + digit, U'0' + digit, at(1, next), states);
    }
    if (places == 0 && rest == 0) AddStep(point, U'0', U'0', zeros, states);
    AddStep(at(0, rest), U'.', U'.', point, states);
    if (rest == 0) AddStep(zero, U'.', U'.', point, states);
    for (std::size_t layer = 1; layer <= places; ++layer) {
      if (layer == places) {
        if (rest == 0) AddStep(at(layer, 0), U'0', U'0', zeros, states);
        continue;
      }
      for (char32_t digit = 0; digit < 10; ++digit) {
        AddStep(at(layer, rest), U'0' + digit, U'0' + digit, at(layer + 1, (rest * 10 + digit) % d),
                states);
      }
    }
  }
  for (const std::int32_t from : {0, sign}) {
    AddStep(from, U'0', U'0', zero, states);
    for (char32_t digit = 1; digit < 10; ++digit) {
      AddStep(from, U'0' + digit, U'0' + digit, at(0, static_cast<std::int64_t>(digit) % d),
              states);
    }
  }
  AddStep(0, U'-', U'-', sign, states);
  return Finish(std::move(states));
}

Dfa PlainNumbers() { return NumbersThat(kLess | kEqual | kGreater, {}); }

Dfa Integers() {
  States states(4);
  states[2].accepts = states[3].accepts = true;
  for (const std::int32_t from : {0, 1}) {
    AddStep(from, U'0', U'0', 2, states);
    AddStep(from, U'1', U'9', 3, states);
  }
  AddStep(0, U'-', U'-', 1, states);
  AddStep(3, U'0', U'9', 3, states);
  return Finish(std::move(states));
}

}  // namespace quire::structured
