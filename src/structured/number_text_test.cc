#include "structured/number_text.h"

#include <cmath>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace quire::structured {
namespace {

Decimal D(const std::string& text) { return *DecimalOf(*ParseJson(text)); }

TEST(NumberText, EveryNumberStandsToABoundAsItsValueDoes) {
  for (const char* bound : {"0", "1", "-1", "5", "10", "99", "100", "-100", "0.5", "-0.5", "2.25",
                            "1000.01", "-3.125", "1e3", "1e-3"}) {
    const double value = ParseJson(bound)->number();
    const Dfa less = NumbersThat(kLess, D(bound));
    const Dfa equal = NumbersThat(kEqual, D(bound));
    const Dfa greater = NumbersThat(kGreater, D(bound));
    for (double x = -120; x <= 120; x += 0.125) {
      char text[64];
      std::snprintf(text, sizeof text, "%.*f", x == std::trunc(x) ? 0 : 3, x);
      EXPECT_EQ(less.Accepts(text), x < value) << text << " < " << bound;
      EXPECT_EQ(equal.Accepts(text), x == value) << text << " == " << bound;
      EXPECT_EQ(greater.Accepts(text), x > value) << text << " > " << bound;
    }
  }
}

TEST(NumberText, ZerosThatDoNotCountChangeNothing) {
  EXPECT_TRUE(NumbersThat(kEqual, D("2.5")).Accepts("2.500"));
  EXPECT_TRUE(NumbersThat(kEqual, D("0")).Accepts("-0.0"));
  EXPECT_FALSE(NumbersThat(kEqual, D("2")).Accepts("02"));
  EXPECT_FALSE(PlainNumbers().Accepts("1."));
  EXPECT_FALSE(PlainNumbers().Accepts("."));
  EXPECT_FALSE(PlainNumbers().Accepts("-"));
}

TEST(NumberText, MultiplesAreThoseOfTheStep) {
  for (const char* step : {"1", "3", "7", "0.5", "0.25", "2.5", "100"}) {
    const double value = ParseJson(step)->number();
    const Dfa multiples = *MultiplesOf(D(step));
    for (double x = -110; x <= 110; x += 0.125) {
      char text[64];
      std::snprintf(text, sizeof text, "%.*f", x == std::trunc(x) ? 0 : 3, x);
      const double quotient = x / value;
      EXPECT_EQ(multiples.Accepts(text), quotient == std::trunc(quotient)) << text << " / " << step;
    }
  }
}

TEST(NumberText, AStepThatTakesTooManyStatesIsRefused) {
  EXPECT_EQ(MultiplesOf(D("0.123456789")).status().code(), Code::kResourceExhausted);
  EXPECT_FALSE(DecimalOf(Json(1e308)).has_value() &&
               DecimalOf(Json(1e-308))->fraction.size() > 400);
}

}  // namespace
}  // namespace quire::structured
