#include "config/field_value.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace quire {
namespace {

// The message of reading `json` into a T; the value goes to `out`.
template <typename T>
std::string FromJson(std::string_view json, T& out) {
  const auto value = ParseJson(json, {.python_literals = true});
  EXPECT_TRUE(value.ok()) << json;
  return FieldFromJson(*value, out).message();
}

template <typename T>
std::string FromText(std::string_view text, T& out) {
  return FieldFromText(text, out).message();
}

TEST(FieldFromJson, IntegersTakeWholeNumbersInRangeOnly) {
  int field = 7;
  EXPECT_EQ(FromJson("5", field), "");
  EXPECT_EQ(field, 5);
  EXPECT_EQ(FromJson("-5.0", field), "");
  EXPECT_EQ(field, -5);
  EXPECT_EQ(FromJson("null", field), "");
  EXPECT_EQ(field, -5);
  EXPECT_EQ(FromJson("0.5", field), "must be an integer, got 0.5");
  EXPECT_EQ(FromJson("2147483648", field), "must be in [-2147483648, 2147483647], got 2147483648");
  for (const char* json : {"-2147483649", "2147483648.0", "18446744073709551615", "1e300", "NaN",
                           "Infinity", "-Infinity", "true", "\"5\"", "[5]", "{}"}) {
    EXPECT_NE(FromJson(json, field), "") << json;
  }
  EXPECT_EQ(field, -5) << "a refused value changes nothing";
}

TEST(FieldFromJson, WideIntegersReachTheirEdges) {
  std::int64_t field = 0;
  EXPECT_EQ(FromJson("9223372036854775807", field), "");
  EXPECT_EQ(field, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(FromJson("-9223372036854775808", field), "");
  EXPECT_EQ(field, std::numeric_limits<std::int64_t>::min());
  EXPECT_NE(FromJson("9223372036854775808", field), "");
  EXPECT_NE(FromJson("9223372036854775808.0", field), "");
}

TEST(FieldFromJson, SeedsAreAnyIntegerAndMinusOneIsNone) {
  std::optional<std::uint64_t> seed;
  EXPECT_EQ(FromJson("18446744073709551615", seed), "");
  EXPECT_EQ(seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(FromJson("-2", seed), "");
  EXPECT_EQ(seed, std::numeric_limits<std::uint64_t>::max() - 1);
  EXPECT_EQ(FromJson("-1", seed), "");
  EXPECT_EQ(seed, std::nullopt);
  EXPECT_EQ(FromJson("0", seed), "");
  EXPECT_EQ(seed, 0U);
  EXPECT_EQ(FromJson("null", seed), "");
  EXPECT_EQ(seed, std::nullopt);
  EXPECT_NE(FromJson("0.5", seed), "");
  EXPECT_NE(FromJson("\"a\"", seed), "");
}

TEST(FieldFromJson, NullEmptiesAnOptional) {
  std::optional<int> field = 4;
  EXPECT_EQ(FromJson("null", field), "");
  EXPECT_EQ(field, std::nullopt);
  EXPECT_EQ(FromJson("3", field), "");
  EXPECT_EQ(field, 3);
  EXPECT_NE(FromJson("\"3\"", field), "");
  EXPECT_EQ(field, 3);
}

TEST(FieldFromJson, NumbersTakeEveryNumber) {
  double field = 0.0;
  EXPECT_EQ(FromJson("5", field), "");
  EXPECT_EQ(field, 5.0);
  EXPECT_EQ(FromJson("1e-12", field), "");
  EXPECT_EQ(field, 1e-12);
  EXPECT_EQ(FromJson("NaN", field), "");
  EXPECT_TRUE(std::isnan(field));
  EXPECT_EQ(FromJson("\"hot\"", field), "must be a number, got a string");
  EXPECT_EQ(FromJson("true", field), "must be a number, got a boolean");
}

TEST(FieldFromJson, TextListsMayBeOneText) {
  std::vector<std::string> field = {"old"};
  EXPECT_EQ(FromJson("\"a\"", field), "");
  EXPECT_EQ(field, std::vector<std::string>{"a"});
  EXPECT_EQ(FromJson("[\"b\", \"c\"]", field), "");
  EXPECT_EQ(field, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(FromJson("[\"b\", 7]", field),
            "[1]: must be a string or a list of strings, got an integer");
  EXPECT_NE(FromJson("7", field), "");
}

TEST(FieldFromJson, TokenIdListsHoldIntegers) {
  std::vector<TokenId> field;
  EXPECT_EQ(FromJson("[1, 2.0, -1]", field), "");
  EXPECT_EQ(field, (std::vector<TokenId>{1, 2, -1}));
  EXPECT_EQ(FromJson("[1, \"2\"]", field), "[1]: must be an integer, got a string");
  EXPECT_NE(FromJson("[4294967296]", field), "");
  EXPECT_NE(FromJson("3", field), "");
  std::optional<std::vector<TokenId>> optional;
  EXPECT_EQ(FromJson("[]", optional), "");
  EXPECT_EQ(optional, std::vector<TokenId>{});
  EXPECT_EQ(FromJson("null", optional), "");
  EXPECT_EQ(optional, std::nullopt);
}

TEST(FieldFromJson, BiasesGoByTokenId) {
  LogitBias field;
  EXPECT_EQ(FromJson("{\"5\": 1, \"7\": -2.5}", field), "");
  EXPECT_EQ(field, (LogitBias{{5, 1.0F}, {7, -2.5F}}));
  EXPECT_EQ(FromJson("{\"x\": 1}", field), "keys must be token ids, got 'x'");
  EXPECT_EQ(FromJson("{\"5\": \"1\"}", field), "token 5: must be a number, got a string");
  EXPECT_NE(FromJson("[]", field), "");
}

TEST(FieldFromText, ReadsSwitchesNumbersAndJson) {
  bool is_on = false;
  EXPECT_EQ(FromText("", is_on), "");
  EXPECT_TRUE(is_on);
  EXPECT_EQ(FromText("off", is_on), "");
  EXPECT_FALSE(is_on);
  EXPECT_EQ(FromText("maybe", is_on), "must be true or false, got 'maybe'");
  int count = 0;
  EXPECT_EQ(FromText("4k", count), "");
  EXPECT_EQ(count, 4000);
  EXPECT_EQ(FromText("-1", count), "");
  EXPECT_EQ(count, -1);
  EXPECT_NE(FromText("3g", count), "");
  EXPECT_NE(FromText("-1k", count), "");
  double number = 0.0;
  EXPECT_EQ(FromText("0.7", number), "");
  EXPECT_EQ(number, 0.7);
  EXPECT_EQ(FromText("0.7x", number), "must be a number, got '0.7x'");
  Json object;
  EXPECT_EQ(FromText(R"({"a": 1})", object), "");
  EXPECT_EQ(object.Dump(), R"({"a":1})");
  EXPECT_EQ(FromText("[]", object), "must be an object, got an array");
  EXPECT_NE(FromText("{", object), "");
}

TEST(FieldFromText, RepetitionIsAnObjectOfThreeNumbers) {
  std::optional<RepetitionDetection> field;
  ASSERT_TRUE(FieldFromText(R"({"max_pattern_size":4,"min_count":3})", field).ok());
  EXPECT_EQ(field, (RepetitionDetection{.max_pattern_size = 4, .min_count = 3}));
  EXPECT_EQ(FieldToJson(field).Dump(),
            R"({"max_pattern_size":4,"min_pattern_size":0,"min_count":3})");
  EXPECT_EQ(FieldFromText(R"({"min_cuont":3})", field).message(),
            "has max_pattern_size, min_pattern_size and min_count, got 'min_cuont'");
  EXPECT_EQ(FieldFromText(R"({"min_count":"3"})", field).message(),
            "min_count: must be an integer, got a string");
  EXPECT_FALSE(FieldFromText("3", field).ok());
  EXPECT_TRUE(field.has_value());
  EXPECT_TRUE(FieldFromText("none", field).ok());
  EXPECT_FALSE(field.has_value());
}

TEST(FieldFromText, ListsGrow) {
  std::vector<std::string> texts;
  EXPECT_EQ(FromText("a,b", texts), "");
  EXPECT_EQ(FromText("c", texts), "");
  EXPECT_EQ(texts, (std::vector<std::string>{"a,b", "c"}));
  std::optional<std::vector<TokenId>> ids;
  EXPECT_EQ(FromText("1,2", ids), "");
  EXPECT_EQ(FromText("3", ids), "");
  EXPECT_EQ(ids, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_NE(FromText("4,,5", ids), "");
  EXPECT_EQ(ids, (std::vector<TokenId>{1, 2, 3}));
  LogitBias biases;
  EXPECT_EQ(FromText(R"({"1": 2})", biases), "");
  EXPECT_EQ(FromText(R"({"3": 4})", biases), "");
  EXPECT_EQ(biases, (LogitBias{{1, 2.0F}, {3, 4.0F}}));
}

TEST(FieldFromText, SeedsAndOptionalsKnowNone) {
  std::optional<std::uint64_t> seed = 4;
  EXPECT_EQ(FromText("none", seed), "");
  EXPECT_EQ(seed, std::nullopt);
  EXPECT_EQ(FromText("18446744073709551615", seed), "");
  EXPECT_EQ(seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(FromText("-1", seed), "");
  EXPECT_EQ(seed, std::nullopt);
  EXPECT_NE(FromText("seed", seed), "");
  std::optional<int> count = 5;
  EXPECT_EQ(FromText("none", count), "");
  EXPECT_EQ(count, std::nullopt);
}

}  // namespace
}  // namespace quire
