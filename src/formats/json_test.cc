#include "formats/json.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/test_data.h"
#include "formats/testing.h"

namespace quire {
namespace {

std::string ErrorOf(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = ParseJson(text, limits);
  if (json.ok()) return "ok";
  EXPECT_EQ(json.status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(IsValidUtf8(json.status().message()));
  return json.status().message();
}

// The text read and written back.
std::string Again(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = ParseJson(text, limits);
  return json.ok() ? json->Dump() : json.status().message();
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = ParseJson(R"( {"n":null,"t":true,"i":-3,"u":18446744073709551615,"d":0.5,)"
                              R"("s":"aéA😀\n","a":[1,[]],"o":{"x":{}}} )")
                        .value();
  EXPECT_TRUE(json.Find("n")->is_null());
  EXPECT_TRUE(json.Find("t")->boolean());
  EXPECT_EQ(json.Find("i")->integer(), -3);
  EXPECT_EQ(json.Find("u")->uint64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json.Find("d")->number(), 0.5);
  EXPECT_EQ(json.Find("s")->string(), "aéA😀\n");
  EXPECT_EQ(json.Find("a")->array().size(), 2U);
  EXPECT_TRUE(json.Find("o")->Find("x")->object().empty());
  EXPECT_EQ(json.Find("absent"), nullptr);
  EXPECT_EQ(json.Find("i")->Find("x"), nullptr);
}

TEST(Json, KeepsMembersInOrderAndFindsTheLastOfEqualNames) {
  EXPECT_EQ(Again(R"({"z":1,"a":2,"z":3})"), R"({"z":1,"a":2,"z":3})");
  EXPECT_EQ(ParseJson(R"({"z":1,"a":2,"z":3})")->Find("z")->integer(), 3);
}

TEST(Json, IntegersKeepTheirBitsAndLargerOnesBecomeDoubles) {
  EXPECT_EQ(Again("[9223372036854775807,-9223372036854775808]"),
            "[9223372036854775807,-9223372036854775808]");
  EXPECT_TRUE(ParseJson("9223372036854775807")->is_int());
  EXPECT_TRUE(ParseJson("9223372036854775808")->is_uint64());
  EXPECT_EQ(Again("18446744073709551616"), "1.8446744073709552e+19");
  EXPECT_EQ(Again("-9223372036854775809"), "-9.223372036854776e+18");
}

TEST(Json, WritesDoublesAsPythonDoes) {
  EXPECT_EQ(
      Again("[1.0,-0.0,100000.0,1e15,1e16,1e22,0.1,1e-4,1e-5,123456.789,5e-324]"),
      "[1.0,-0.0,100000.0,1000000000000000.0,1e+16,1e+22,0.1,0.0001,1e-05,123456.789,5e-324]");
  EXPECT_EQ(Json(1.7976931348623157e308).Dump(), "1.7976931348623157e+308");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).Dump(), "NaN");
  EXPECT_EQ(Json(-std::numeric_limits<double>::infinity()).Dump(), "-Infinity");
}

TEST(Json, EscapesOnlyWhatItMust) {
  EXPECT_EQ(Json(std::string_view("a\"\\/\b\f\n\r\t\x01\x1f\x7f é\0z", 17)).Dump(),
            "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f é\\u0000z\"");
  EXPECT_EQ(Json("a\xff\xc3z").Dump(), "\"a\uFFFD\uFFFDz\"");
}

TEST(Json, IndentsByLevels) {
  EXPECT_EQ(ParseJson(R"({"a":[1,{}],"b":[]})")->Dump(2),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(Json, BuildsTreesFromValues) {
  Json json;
  json["name"] = "quire";
  json["sizes"] = JsonArray{1, 2U, std::uint64_t{1} << 63, 0.5, true, nullptr};
  json["name"] = "other";
  EXPECT_EQ(json.Dump(), R"({"name":"other","sizes":[1,2,9223372036854775808,0.5,true,null]})");
  EXPECT_EQ(ParseJson(json.Dump()).value(), json);
  Json copy = json;
  copy["name"] = 1;
  EXPECT_NE(copy, json);
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const std::string_view text :
       {"",          " ",        "nul",     "True",     "[1,]",   "{\"a\":1,}", "{a:1}",
        "{'a':1}",   "[1 2]",    "01",      "1.",       ".5",     "+1",         "1e",
        "--1",       "[1]x",     "[1][2]",  "\"abc",    "\"\t\"", "\"\\x\"",    "\"\\u12\"",
        "{\"a\"}",   "{\"a\":}", "// c\n1", "/* c */1", "]",      "NaN",        "[Infinity]",
        "-Infinity", "\x0b",     "\"\\"}) {
    EXPECT_NE(ErrorOf(text), "ok") << text;
  }
}

TEST(Json, RefusesBytesThatAreNoUtf8) {
  for (const std::string_view text : {"\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"", "[1]\xff", "{\"\x80\":1}"}) {
    EXPECT_NE(ErrorOf(text), "ok") << Printable(text);
  }
  EXPECT_NE(ErrorOf("\xEF\xBB\xBF{}").find("byte order mark"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string_view("1\0", 2)).find("a zero byte"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string_view("\"a\0\"", 4)), "ok");
}

TEST(Json, RefusesHalvesOfSurrogatePairs) {
  for (const char* text : {R"("\ud800")", R"("\ud800x")", R"("\udc00")", R"("\ud800\ud800")",
                           R"("\ud800A")", R"({"\udfff":1})"}) {
    EXPECT_NE(ErrorOf(text).find("surrogate"), std::string::npos) << text << ErrorOf(text);
  }
  EXPECT_EQ(Again(R"("\ud83d\ude00")"), "\"😀\"");
}

TEST(Json, RefusesNumbersTooLargeForADouble) {
  EXPECT_NE(ErrorOf("[1, 1e999]").find("1e999"), std::string::npos);
  EXPECT_NE(ErrorOf("-1e400"), "ok");
  EXPECT_EQ(Again("1e-999"), "0.0");
  EXPECT_NE(ErrorOf(std::string(5000, '9')), "ok");
}

TEST(Json, SaysLineAndColumn) {
  EXPECT_TRUE(ErrorOf("{\n  \"a\": tru\n}").starts_with("line 2, column 11: "))
      << ErrorOf("{\n  \"a\": tru\n}");
  EXPECT_TRUE(ErrorOf("[\n\n  }").starts_with("line 3, column 3: ")) << ErrorOf("[\n\n  }");
  EXPECT_TRUE(ErrorOf("").starts_with("line 1, column 1: "));
  const std::string error = ErrorOf(StrCat("\"", std::string(100000, 'x')));
  EXPECT_LT(error.size(), 400U);
}

TEST(Json, LimitsDepth) {
  const JsonLimits five = {.max_depth = 5};
  EXPECT_EQ(ErrorOf("[[[[[1]]]]]", five), "ok");
  EXPECT_EQ(ErrorOf("[[[[[[1]]]]]]", five),
            "line 1, column 6: arrays and objects nest deeper than 5 levels");
  EXPECT_EQ(ErrorOf("{\"a\":\n{\"a\":[[[[", five),
            "line 2, column 9: arrays and objects nest deeper than 5 levels");
  EXPECT_EQ(ErrorOf("[[],[],[[]],[[],[]],[],[],[],[]]", five), "ok");
  for (const std::string& deep : {std::string(20000, '['), std::string(1000000, '[')}) {
    EXPECT_NE(ErrorOf(deep).find("nest deeper than 64 levels"), std::string::npos);
  }
  std::string objects;
  for (int i = 0; i < 20000; ++i) objects += "{\"a\":";
  EXPECT_NE(ErrorOf(objects).find("nest deeper than 64 levels"), std::string::npos);
  EXPECT_EQ(ErrorOf("1", {.max_depth = 0}), "ok");
  EXPECT_NE(ErrorOf("[]", {.max_depth = 0}), "ok");
}

TEST(Json, LimitsBytes) {
  EXPECT_EQ(ErrorOf("[1,2]", {.max_bytes = 5}), "ok");
  EXPECT_EQ(ErrorOf("[1,2]", {.max_bytes = 4}), "is 5 bytes long; at most 4 are read");
}

TEST(Json, RefusesEqualNamesOnRequest) {
  const JsonLimits unique = {.unique_names = true};
  EXPECT_EQ(ErrorOf(R"({"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]})", unique), "ok");
  EXPECT_EQ(ErrorOf("{\"a\":1,\n\"b\":{\"x\":1,\"y\":2,\"x\":3}}", unique),
            "line 2, column 20: the name \"x\" stands twice in one object");
  EXPECT_NE(ErrorOf(R"({"a":1,"\u0061":2})", unique).find("stands twice"), std::string::npos);
}

// A quadratic search would run into the limit that the test runner has for a program.
TEST(Json, FindsEqualNamesAmongVeryMany) {
  std::string text = "{";
  for (int i = 0; i < 1'000'000; ++i) text += StrCat("\"key", i, "\":0,");
  text += "\"key77\":1}";
  EXPECT_NE(ErrorOf(text, {.unique_names = true}).find("\"key77\""), std::string::npos);
}

TEST(Json, ReadsPythonsLiteralsOnRequestOutsideStringsOnly) {
  const JsonLimits python = {.python_literals = true};
  EXPECT_EQ(Again(R"({"time_step_limit": [0.0, Infinity], "NaN": "a NaN \" Infinity"})", python),
            R"({"time_step_limit":[0.0,Infinity],"NaN":"a NaN \" Infinity"})");
  EXPECT_EQ(Again("[1,NaN,2,-Infinity,111,11111111,-3]", python),
            "[1,NaN,2,-Infinity,111,11111111,-3]");
  EXPECT_EQ(Again("NaN", python), "NaN");
  EXPECT_EQ(Again("[[NaN],{\"a\":-Infinity}]", python), "[[NaN],{\"a\":-Infinity}]");
  for (const char* text : {"-NaN", "NaN1", "1NaN", "+Infinity", "[NaN", "nan", "inf", "{NaN:1}",
                           "--Infinity", "NaNNaN", "Infinity.0", "NaN NaN", "\"NaN", "\"\\"}) {
    EXPECT_NE(ErrorOf(text, python), "ok") << text;
  }
  EXPECT_NE(ErrorOf("NaN"), "ok");
}

TEST(Json, TypedReadsSayTheNameAndBothKinds) {
  const Json json =
      ParseJson(R"({"i":3,"d":2.5,"s":"x","b":true,"n":null,"u":18446744073709551615})").value();
  EXPECT_EQ(RequireInt(json, "i").value(), 3);
  EXPECT_EQ(RequireNumber(json, "i").value(), 3.0);
  EXPECT_EQ(RequireNumber(json, "d").value(), 2.5);
  EXPECT_EQ(RequireString(json, "s").value(), "x");
  EXPECT_TRUE(RequireBool(json, "b").value());
  EXPECT_EQ(RequireInt(json, "s").status().message(),
            "s: must be an integer of 64 bits, got a string");
  EXPECT_EQ(RequireInt(json, "u").status().message(),
            "u: must be an integer of 64 bits, got an integer 18446744073709551615");
  EXPECT_EQ(RequireBool(json, "n").status().message(), "n: must be a boolean, got null");
  EXPECT_EQ(RequireString(json, "q").status().message(), "q: is missing; must be a string");
  EXPECT_FALSE(RequireInt(json, "d").ok());
  EXPECT_FALSE(RequireInt(Json(1), "i").ok());
}

TEST(Json, TypedReadsFallBackWhereTheMemberIsAbsentOrNull) {
  const Json json = ParseJson(R"({"i":3,"s":"x","n":null})").value();
  EXPECT_EQ(IntOr(json, "i", 7).value(), 3);
  EXPECT_EQ(IntOr(json, "n", 7).value(), 7);
  EXPECT_EQ(IntOr(json, "q", 7).value(), 7);
  EXPECT_FALSE(IntOr(json, "s", 7).ok());
  EXPECT_EQ(NumberOr(json, "q", 0.5).value(), 0.5);
  EXPECT_EQ(StringOr(json, "q", "z").value(), "z");
  EXPECT_EQ(StringOr(json, "s", "z").value(), "x");
  EXPECT_EQ(BoolOr(json, "q", true).value(), true);
  EXPECT_FALSE(BoolOr(json, "i", true).ok());
}

TEST(Json, ReadsTheReferenceFiles) {
  const std::string folder = TestDataPath("models-tiny");
  if (folder.empty()) GTEST_SKIP() << "no models-tiny in the reference data";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = FileBytes(entry.path().string());
    const Result<Json> json = ParseJson(text, {.python_literals = true});
    ASSERT_TRUE(json.ok()) << entry.path() << ": " << json.status().message();
    EXPECT_EQ(Again(json->Dump(), {.python_literals = true}), json->Dump()) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 50);
}

TEST(Json, ReadsALargeTokenizer) {
  const std::string path = TestDataPath("tokenizers/real/deepseek-v4/tokenizer.json");
  if (path.empty()) GTEST_SKIP() << "no tokenizers/real/deepseek-v4 in the reference data";
  EXPECT_EQ(ErrorOf(FileBytes(path)), "ok");
}

}  // namespace
}  // namespace quire
