#include "server/tool_parsers/xml_calls.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/json.h"
#include "server/tool_parser.h"
#include "server/tool_parsers/testing.h"

namespace quire {
namespace {

using Calls = std::vector<JoinedCall>;

const ParameterTypes& Types() {
  static const ParameterTypes& types = *new ParameterTypes(*ParseJson(R"([
    {"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{
      "s":{"type":"string"},"maybe":{"anyOf":[{"type":"string"},{"type":"null"}]},
      "word":{"enum":["a","1"]},"n":{"type":"integer"},"any":{},
      "either":{"type":["string","integer"]}}}}},
    {"type":"function","function":{"name":"g"}}])"));
  return types;
}

JoinedAnswer Parse(std::string_view format, std::string_view text,
                   const ParameterTypes* types = &Types()) {
  const auto make = [&] { return (*FindToolFormat(format, ""))->make(7, types); };
  JoinedAnswer whole = ParseWhole(*make(), text);
  EXPECT_TRUE(whole.is_sound) << text;
  EXPECT_EQ(ParseInPieces(*make(), text, [] { return 1; }), whole) << text;
  return whole;
}

std::string Qwen(const std::string& parameters) {
  return "<tool_call>\n<function=f>\n" + parameters + "</function>\n</tool_call>";
}

std::string QwenParameter(const std::string& name, const std::string& value) {
  return "<parameter=" + name + ">\n" + value + "\n</parameter>\n";
}

std::string ArgumentsOf(const JoinedAnswer& answer) {
  EXPECT_EQ(answer.content, "");
  EXPECT_EQ(answer.calls.size(), 1U);
  if (answer.calls.empty()) return "";
  const std::string& arguments = answer.calls[0].arguments;
  EXPECT_TRUE(ParseJson(arguments).ok()) << arguments;
  return arguments;
}

TEST(ParameterTypes, AreThoseOfTheSchemas) {
  EXPECT_EQ(Types().Find("f", "s"), ParameterType::kString);
  EXPECT_EQ(Types().Find("f", "maybe"), ParameterType::kMaybe);
  EXPECT_EQ(Types().Find("f", "word"), ParameterType::kString);
  EXPECT_EQ(Types().Find("f", "n"), ParameterType::kOther);
  EXPECT_EQ(Types().Find("f", "any"), ParameterType::kOther);
  EXPECT_EQ(Types().Find("f", "either"), ParameterType::kOther);
  EXPECT_EQ(Types().Find("f", "absent"), ParameterType::kOther);
  EXPECT_EQ(Types().Find("g", "s"), ParameterType::kOther);
}

TEST(Qwen3Coder, KeepsStringsAndReadsOtherValues) {
  const auto arguments = [](const std::string& name, const std::string& value) {
    return ArgumentsOf(Parse("qwen3_coder", Qwen(QwenParameter(name, value))));
  };
  EXPECT_EQ(arguments("s", "Paris"), R"({"s": "Paris"})");
  EXPECT_EQ(arguments("s", "1"), R"({"s": "1"})");
  EXPECT_EQ(arguments("s", "\nif (a < b) \"x\\n\"\n"), R"({"s": "\nif (a < b) \"x\\n\"\n"})");
  EXPECT_EQ(arguments("s", ""), R"({"s": ""})");
  EXPECT_EQ(arguments("word", "1"), R"({"word": "1"})");
  EXPECT_EQ(arguments("n", "12"), R"({"n": 12})");
  EXPECT_EQ(arguments("n", "twelve"), R"({"n": "twelve"})");
  EXPECT_EQ(arguments("any", "{\"k\": [1, true]}"), R"({"any": {"k": [1, true]}})");
  EXPECT_EQ(arguments("any", "True"), R"({"any": true})");
  EXPECT_EQ(arguments("maybe", "null"), R"({"maybe": null})");
  EXPECT_EQ(arguments("maybe", "12"), R"({"maybe": "12"})");
  EXPECT_EQ(
      ArgumentsOf(Parse("qwen3_coder", Qwen(QwenParameter("s", "a") + QwenParameter("n", "2")))),
      R"({"s": "a", "n": 2})");
  EXPECT_EQ(ArgumentsOf(Parse("qwen3_coder", Qwen(""))), "{}");
}

TEST(Qwen3Coder, TellsTextAndSeveralCallsApart) {
  const JoinedAnswer answer = Parse("qwen3_coder", "I look.\n" + Qwen(QwenParameter("s", "a")) +
                                                       "\n" + Qwen(QwenParameter("n", "1")));
  EXPECT_EQ(answer.content, "I look.\n");
  EXPECT_EQ(answer.calls, (Calls{{"f", R"({"s": "a"})"}, {"f", R"({"n": 1})"}}));
  const JoinedAnswer bare = Parse(
      "qwen3_coder", "<function=f><parameter=s>a<parameter=n>2</function><function=g></function>");
  EXPECT_EQ(bare.content, "");
  EXPECT_EQ(bare.calls, (Calls{{"f", R"({"s": "a", "n": 2})"}, {"g", "{}"}}));
}

TEST(Qwen3Coder, LeavesWhatIsNoCallInTheContent) {
  for (const char* text : {"<tool_call>\nno", "<tool_call><function=a b>x", "a <function", "x < y",
                           "<tool_call>{\"name\": \"f\"}</tool_call>"}) {
    const JoinedAnswer answer = Parse("qwen3_coder", text);
    EXPECT_TRUE(answer.calls.empty()) << text;
    EXPECT_EQ(answer.content, text);
  }
}

TEST(Qwen3Coder, StreamsAStringAsItComes) {
  const auto parser = (*FindToolFormat("qwen3_coder", ""))->make(7, &Types());
  std::vector<AnswerEvent> events;
  parser->Feed("<tool_call>\n<function=f>\n<parameter=s>\nHello, wor", events);
  EXPECT_EQ(Join(events).calls, (Calls{{"f", R"({"s": "Hello, wor)"}}));
}

TEST(Qwen3Coder, KeepsTheArgumentsThatCameBeforeAnAnswerBrokeOff) {
  const JoinedAnswer answer =
      Parse("qwen3_coder", "<tool_call><function=f><parameter=s>\nun </par");
  EXPECT_EQ(answer.calls, (Calls{{"f", R"({"s": "un </par)"}}));
  EXPECT_EQ(answer.content, "");
}

TEST(Glm45, ReadsKeysAndValues) {
  const JoinedAnswer answer =
      Parse("glm45",
            "Sure.<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>12\n"
            "</arg_value>\n<arg_key>n</arg_key>\n<arg_value>12</arg_value>\n"
            "<arg_key>x</arg_key><arg_value>[\"a\"]</arg_value>\n</tool_call>\n"
            "<tool_call>g</tool_call>");
  EXPECT_EQ(answer.content, "Sure.");
  EXPECT_EQ(answer.calls, (Calls{{"f", R"({"s": "12\n", "n": 12, "x": ["a"]})"}, {"g", "{}"}}));
}

TEST(Glm45, TakesCallsWithoutLineBreaks) {
  EXPECT_EQ(ArgumentsOf(Parse(
                "glm47", "<tool_call>f<arg_key>s</arg_key><arg_value>a</arg_value></tool_call>")),
            R"({"s": "a"})");
}

TEST(Glm45, LeavesWhatIsNoCallInTheContent) {
  for (const char* text : {"<tool_call>two words</tool_call>", "<tool_call></tool_call>",
                           "<tool_call>f", "<tool_call>{\"name\": \"f\"}</tool_call>"}) {
    const JoinedAnswer answer = Parse("glm45", text);
    EXPECT_TRUE(answer.calls.empty() ||
                std::string_view(text).find("words") != std::string_view::npos)
        << text;
    if (answer.calls.empty()) {
      EXPECT_EQ(answer.content, text);
    }
  }
}

TEST(XmlCalls, ReadValuesWithoutSchemasToo) {
  EXPECT_EQ(ArgumentsOf(Parse("qwen3_coder",
                              Qwen(QwenParameter("a", "1") + QwenParameter("b", "x")), nullptr)),
            R"({"a": 1, "b": "x"})");
}

}  // namespace
}  // namespace quire
