#include "tokenizer/json_cursor.h"

#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "formats/json.h"

namespace quire {
namespace {

// Any JSON, pretty or compact, whose strings are long enough to cross the edges of what is looked
// at as a whole.
class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  std::string Value(int depth) {
    switch (random_() % (depth > 0 ? 6 : 4)) {
      case 0:
        return StrCat(static_cast<int>(random_() % 2000) - 1000);
      case 1:
        return random_() % 2 == 0 ? "true" : "null";
      case 4:
        return Container('[', ']', depth, false);
      case 5:
        return Container('{', '}', depth, true);
      default:
        return String();
    }
  }

  std::string String() {
    constexpr std::string_view kParts[] = {
        "a", "bc",     "\u00e9", "\\\"",    "\\\\",           "\\n",  "[]", "{",  "},", " ",
        ":", "\u20ac", "'",      "\\u0041", "\\ud83e\\uddea", "\x7f", "/",  "\\/"};
    std::string out = "\"";
    for (auto left = random_() % 40; left > 0; --left) {
      out += kParts[random_() % std::size(kParts)];
    }
    return out + "\"";
  }

 private:
  std::string Container(char open, char close, int depth, bool has_names) {
    std::string out(1, open);
    for (auto i = random_() % 5; i > 0; --i) {
      out += Space();
      if (has_names) out += String() + Space() + ":" + Space();
      out += Value(depth - 1) + Space();
      if (i > 1) out += ",";
    }
    return out + Space() + close;
  }

  std::string Space() { return std::string(random_() % 3 == 0 ? random_() % 30 : 0, ' '); }

  std::minstd_rand random_;
};

TEST(JsonCursor, ReadsStringsAsTheParserDoes) {
  RandomJson random(3);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = std::string(static_cast<std::size_t>(i % 70), '\n') + random.String();
    JsonCursor cursor(text);
    std::string_view value;
    std::string buffer;
    ASSERT_TRUE(cursor.ReadString(value, buffer)) << text;
    EXPECT_EQ(value, ParseJson(text)->string());
    EXPECT_TRUE(cursor.AtEnd());
  }
}

TEST(JsonCursor, RefusesTheStringsThatTheParserRefuses) {
  RandomJson random(4);
  std::minstd_rand at(5);
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = random.String();
    constexpr std::string_view kBytes = "\"\\u\n\x1f\x7f xd8";
    text[at() % text.size()] = kBytes[at() % kBytes.size()];
    if (i % 4 == 0) text.resize(at() % text.size());
    if (!IsValidUtf8(text)) continue;
    JsonCursor cursor(text);
    std::string_view value;
    std::string buffer;
    const bool is_read = cursor.ReadString(value, buffer) && cursor.AtEnd();
    const Result<Json> parsed = ParseJson(text);
    EXPECT_EQ(is_read, parsed.ok() && parsed->is_string()) << Printable(text, 400);
    if (is_read && parsed.ok()) {
      EXPECT_EQ(value, parsed->string());
    }
    refused += !is_read;
  }
  EXPECT_GT(refused, 500);
}

TEST(JsonCursor, PassesOverAnyValueAsAWhole) {
  RandomJson random(6);
  for (int i = 0; i < 3000; ++i) {
    const std::string value = random.Value(4);
    const std::string text =
        std::string(static_cast<std::size_t>(i % 70), ' ') + value + (i % 2 == 0 ? ", 7" : "]");
    JsonCursor cursor(text);
    std::string_view passed;
    ASSERT_TRUE(cursor.SkipValue(passed)) << text;
    EXPECT_EQ(passed, value);
    EXPECT_EQ(cursor.Peek(), i % 2 == 0 ? ',' : ']');
  }
}

TEST(JsonCursor, SplitsWhatTheParserReads) {
  RandomJson random(7);
  int objects = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random.Value(4);
    const Result<Json> parsed = ParseJson(text);
    ASSERT_TRUE(parsed.ok());
    JsonMembers inner;
    const Result<JsonMembers> members = SplitObject(text, "model", inner);
    ASSERT_EQ(members.ok(), parsed->is_object()) << text;
    if (!members.ok()) continue;
    ++objects;
    for (const auto& [name, value] : *members) {
      EXPECT_EQ(*ParseJson(value), *parsed->Find(name)) << text;
    }
  }
  EXPECT_GT(objects, 100);
}

TEST(JsonCursor, RefusesValuesThatDoNotEnd) {
  for (const std::string_view text :
       {"[", "[[]", "{\"a\":[}", "\"abc", "\"abc\\\"", "[\"]", "[\"a\\\\\\\"]", "", ",", "]"}) {
    for (const std::size_t indent : {0U, 1U, 60U, 63U, 64U, 200U}) {
      const std::string padded = std::string(indent, ' ') + std::string(text);
      JsonCursor cursor(padded);
      std::string_view passed;
      EXPECT_FALSE(cursor.SkipValue(passed)) << padded;
    }
  }
}

TEST(JsonCursor, BoundsTheNestingOfWhatItPassesOver) {
  for (const std::size_t depth : {1U, 63U, 64U, 65U, 100000U}) {
    const std::string text = std::string(depth, '[') + std::string(depth, ']');
    JsonCursor cursor(text);
    std::string_view passed;
    EXPECT_EQ(cursor.SkipValue(passed), depth <= 64);
    if (depth > 64) {
      EXPECT_EQ(cursor.position(), 64U);
    }
  }
}

}  // namespace
}  // namespace quire
