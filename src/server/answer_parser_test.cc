// What every format must do with every answer, however it is cut; and what each makes of its own.
#include "server/answer_parser.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "formats/json.h"
#include "server/tool_parsers/formats.h"
#include "server/tool_parsers/testing.h"

namespace quire {
namespace {

using Calls = std::vector<JoinedCall>;

std::unique_ptr<AnswerParser> Make(std::string_view tools, std::string_view reasoning = {},
                                   std::string_view prompt_end = {}) {
  AnswerParserOptions options;
  options.id_seed = 7;
  options.prompt_end = prompt_end;
  if (!tools.empty()) options.tools = *FindToolFormat(tools, "");
  if (!reasoning.empty()) options.reasoning = *FindReasoningFormat(reasoning, "");
  return MakeAnswerParser(options);
}

JoinedAnswer Parse(std::string_view tools, std::string_view text) {
  return ParseWhole(*Make(tools), text);
}

JoinedAnswer Reason(std::string_view format, std::string_view text,
                    std::string_view prompt_end = {}) {
  return ParseWhole(*Make({}, format, prompt_end), text);
}

constexpr char kWithNul[] = "nul \0 byte \xff\xfe [f(a='\0\x01')] <tool_call>\0";

// Answers of all formats, sound, malformed and cut off; each is given to every format.
const std::vector<std::string>& Samples() {
  static const std::vector<std::string> samples = {
      "",
      " ",
      "Hello, world.\n\nA second paragraph {with braces} and [brackets](link).",
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": \"x\"}}\n</tool_call>",
      "I look.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":{\"b\":[1,{}]}}}</tool_call>\n"
      "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>\nDone. <tool_call",
      R"(<tool_call>{"name": "f", "arguments": {"code": "a } ] </tool_call> \" \\", "u": "\u00e9é\ud83d\ude00"}})",
      R"(<tool_call>{"arguments": {"a": "}"}, "id": 3, "name": "f"}</tool_call> x)",
      R"(<tool_call>{"name": "f"}</tool_call><tool_call>{"name": "f", "arguments": null})",
      R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": {"a": [1, 2}}</tool_call> after)",
      R"(<tool_call>{"name": 5, "arguments": {}}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": {"a": 1}, "rest": [)",
      R"(<tool_call>{"name": "get_wea)",
      R"(<tool_call>{"name": "f", "arguments": {"a": "un)",
      "<tool_call>no json</tool_call> and <<tool_call>> <tool_call><tool_call>{\"name\":\"f\"}",
      "{\"name\": \"f\", \"parameters\": {\"q\": \"a;b\"}}; {\"name\": \"g\", \"parameters\": {}}",
      "<|python_tag|>{\"type\": \"function\", \"name\": \"f\", \"parameters\": {\"a\": true}}",
      "{\"name\": \"Bob\", \"age\": 3}\n{\"name\": \"f\", \"parameters\": {}} tail",
      "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": \"g\", "
      "\"arguments\": {\"b\": [\"]\"]}}]",
      "Sure.[TOOL_CALLS]f{\"a\": \"{\"}[TOOL_CALLS]g[ARGS]{\"b\": 2}[TOOL_CALLS]h[CALL_ID]a1[ARGS]"
      "{}",
      "[TOOL_CALLS]f and more [TOOL_CALLS][1, 2] [TOOL_CALLS][",
      "[f(a=1, b='it\\'s', c=\"say \\\"hi\\\"\", d=[1, 2.50, (3,)], e={'k': None, 2: True}), g()]",
      "[f(text='''a \"quoted\" line\nand ''another''', hex=0x1F, neg=-.5, "
      "esc='\\x41\\u00e9\\n\\q')]",
      "<|python_start|>[f(a=-1_000)]<|python_end|> rest [g(x=1)]",
      "[link](http://x) [see f(x)] [f(a=b)] [f(a='x', b=nope)] [f(1)]\n[f(a=1), text]",
      "[f(a='unterminated",
      "[f(a={'b': [1, ",
      "<|tool_call_start|>[f(a=1)]<|tool_call_end|>",
      "<think>\nLet me see <tool_call> </thin k> ok\n</think>\n\nThe answer.<think>no</think>",
      "reasons</think>content",
      "  <thinking> is no tag",
      "<|channel|>analysis<|message|>Hm <|x|> hm.<|end|><|start|>assistant<|channel|>final"
      "<|message|>Hello.<|return|>",
      "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
      " to=functions.f<|channel|>commentary<|message|><|call|><|start|>assistant<|channel|>"
      "commentary<|message|>Next: <|start|>",
      "plain <|channel|>analysis",
      "<|channel|>analysis to=functions.<|message|>a<|channel|>b<|message|>c",
      "[{\"name\": \"f\", \"parameters\": {\"a\": 1}}, {\"name\": \"g\", \"parameters\": {}}]",
      "functools[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]",
      "<tool_calls>[\n{\"name\": \"f\", \"arguments\": {\"a\": 1}},\n{\"name\": \"g\", "
      "\"arguments\": {\"a\": 2}}\n]</tool_calls>",
      "I look.\n<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=s>\nx\ny\n\n"
      "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</"
      "tool_call>",
      "<function=f><parameter=a>no end<parameter=b>{\"k\": [1]}</function> tail <function=>",
      "<tool_call><function=f><parameter=a>\n</parameter junk</tool_call>",
      "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key>"
      "<arg_value> \"q\" </arg_value></tool_call>\n<tool_call>g</tool_call>\n",
      "<tool_call>no name <arg_key>a</arg_key><tool_call>f<arg_key>a<arg_value>",
      "<tool_call>f\n<arg_key>a</arg_key>junk<arg_value>1</arg_value></tool_call>",
      "<tool_call>f\n<arg_key>a</arg_key><arg_value>unterminated </arg_val",
      std::string(kWithNul, sizeof kWithNul - 1),
  };
  return samples;
}

struct Maker {
  std::string name;
  std::function<std::unique_ptr<AnswerParser>()> make;
};

std::vector<Maker> AllParsers() {
  std::vector<Maker> makers;
  for (const ToolFormat& format : ToolFormats()) {
    makers.push_back(
        {"tools " + std::string(format.name), [&format] { return format.make(7, nullptr); }});
  }
  for (const ReasoningFormat& format : ReasoningFormats()) {
    makers.push_back(
        {"reasoning " + std::string(format.name), [&format] { return format.make(""); }});
  }
  makers.push_back({"both", [] { return Make("hermes", "qwen3", "<think>\n"); }});
  makers.push_back({"harmony", [] { return Make("openai", "gpt-oss", "<|start|>assistant"); }});
  makers.push_back({"required", [] { return MakeRequiredCallParser({}); }});
  makers.push_back({"named", [] { return MakeNamedCallParser({}, "f"); }});
  return makers;
}

TEST(AnswerParser, IsTheSameAtEverySplitPointOfEverySample) {
  for (const Maker& maker : AllParsers()) {
    for (const std::string& text : Samples()) {
      const JoinedAnswer whole = ParseWhole(*maker.make(), text);
      EXPECT_TRUE(whole.is_sound) << maker.name << ": " << text;
      for (std::size_t cut = 1; cut < text.size(); ++cut) {
        std::size_t piece = 0;
        const auto next = [&] { return ++piece == 1 ? cut : text.size(); };
        ASSERT_EQ(ParseInPieces(*maker.make(), text, next), whole)
            << maker.name << " at " << cut << ": " << text;
      }
    }
  }
}

TEST(AnswerParser, IsTheSameForRandomPieces) {
  std::mt19937 random(11);
  for (const Maker& maker : AllParsers()) {
    for (const std::string& text : Samples()) {
      const JoinedAnswer whole = ParseWhole(*maker.make(), text);
      for (const unsigned longest : {1U, 2U, 5U, 17U}) {
        const auto next = [&] { return std::size_t{random() % longest + 1}; };
        ASSERT_EQ(ParseInPieces(*maker.make(), text, next), whole) << maker.name << ": " << text;
      }
    }
  }
}

// Text made of the words of all formats, which meets states that no sample has.
TEST(AnswerParser, IsTheSameForRandomText) {
  const std::vector<std::string> words = {"<tool_call>",
                                          "</tool_call>",
                                          "[TOOL_CALLS]",
                                          "[ARGS]",
                                          "<|python_tag|>",
                                          "{\"name\": \"f\"",
                                          ", \"arguments\": ",
                                          "{\"a\": ",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          "\"",
                                          "\\",
                                          "1",
                                          ",",
                                          ";",
                                          " ",
                                          "\n",
                                          "f(",
                                          "a=",
                                          ")",
                                          "'",
                                          "None",
                                          "<think>",
                                          "</think>",
                                          "<|channel|>",
                                          "<|message|>",
                                          "<|end|>",
                                          "<|start|>",
                                          "analysis",
                                          " to=functions.f",
                                          "x",
                                          "<",
                                          "\xc3\xa9"};
  std::mt19937 random(5);
  const std::vector<Maker> makers = AllParsers();
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (unsigned n = random() % 40; n > 0; --n) text += words[random() % words.size()];
    for (const Maker& maker : makers) {
      const JoinedAnswer whole = ParseWhole(*maker.make(), text);
      ASSERT_TRUE(whole.is_sound) << maker.name << ": " << text;
      const auto next = [&] { return std::size_t{random() % 6 + 1}; };
      ASSERT_EQ(ParseInPieces(*maker.make(), text, next), whole) << maker.name << ": " << text;
    }
  }
}

TEST(AnswerParser, LosesNothingOfTextWithoutCalls) {
  for (const ToolFormat& format : ToolFormats()) {
    for (const std::string text :
         {"Hello, world. {not} [a] call", "  spaces around \n", "<tool_cal", "{\"name\": \"Bob\"}",
          "<tool_call>oops!</tool_call>", "[TOOL_CALLS]oops", "[f(x)", "{\"name\": \"f\", \"para",
          "[ TOOL_CALLS ] <|python_tag", "functool"}) {
      const JoinedAnswer answer = ParseWhole(*format.make(1, nullptr), text);
      EXPECT_EQ(answer.content, text) << format.name;
      EXPECT_TRUE(answer.calls.empty()) << format.name;
    }
  }
}

TEST(AnswerParser, HoldsBackOnlyWhatCanStillBecomeAMarker) {
  const auto parser = Make("hermes");
  std::vector<AnswerEvent> events;
  parser->Feed("a <", events);
  EXPECT_EQ(Join(events).content, "a ");
  parser->Feed("tool_", events);
  EXPECT_EQ(Join(events).content, "a ");
  parser->Feed("box", events);
  EXPECT_EQ(Join(events).content, "a <tool_box");
}

TEST(AnswerParser, StreamsArgumentsAsTheyCome) {
  const auto parser = Make("hermes");
  std::vector<AnswerEvent> events;
  parser->Feed("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Ro", events);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, AnswerEventKind::kCallBegin);
  EXPECT_EQ(events[0].name, "f");
  EXPECT_TRUE(events[0].id.starts_with("chatcmpl-tool-"));
  EXPECT_EQ(events[1].text, "{\"city\": \"Ro");
  parser->Feed("me", events);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[2], (AnswerEvent{.kind = AnswerEventKind::kArguments, .text = "me"}));
}

TEST(AnswerParser, GivesEachCallAnIdOfItsOwn) {
  std::vector<AnswerEvent> events;
  const auto parser = Make("mistral");
  parser->Feed("[TOOL_CALLS]f{}[TOOL_CALLS]g{}", events);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].id.size(), 9U);
  EXPECT_NE(events[0].id, events[2].id);
  EXPECT_EQ(events[2].call_index, 1);
}

// One that takes quadratic time would run into the limit that the test runner has for a program.
TEST(AnswerParser, TakesTimeLinearInTheText) {
  std::string nested;
  for (int i = 0; i < 20000; ++i) nested += "{\"name\":\"f\",\"arguments\":{},\"x\":[\n";
  std::string opened;
  for (int i = 0; i < 20000; ++i) opened += "<tool_call>{\"a\":\"<tool_call>[f(a='";
  for (const ToolFormat& format : ToolFormats()) {
    for (const std::string* text : {&nested, &opened}) {
      const auto parser = format.make(1, nullptr);
      std::vector<AnswerEvent> events;
      for (std::size_t at = 0; at < text->size(); at += 4) {
        parser->Feed(std::string_view(*text).substr(at, 4), events);
        events.clear();
      }
      parser->Finish(events);
    }
  }
}

TEST(Hermes, PassesArgumentsOnAsTheModelWroteThem) {
  const std::string arguments =
      R"({"k": 140, "ratio": 2.50, "note": "", "code": "T7w", "extra": {"a": [{}, "}\""]}})";
  const JoinedAnswer answer = Parse(
      "hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": " + arguments + "}\n</tool_call>");
  EXPECT_EQ(answer.calls, (Calls{{"f", arguments}}));
  EXPECT_EQ(answer.content, "");
  EXPECT_TRUE(ParseJson(arguments).ok());
}

TEST(Hermes, TellsTextAndSeveralCallsApart) {
  const JoinedAnswer answer = Parse(
      "qwen3",
      "I look it up.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
      "<tool_call>\n{\"name\": \"g\"}\n</tool_call>\nthen");
  EXPECT_EQ(answer.calls, (Calls{{"f", "{\"a\": 1}"}, {"g", "{}"}}));
  EXPECT_EQ(answer.content, "I look it up.\n\nthen");
}

TEST(Hermes, ForgivesAMissingEndTagAndAMissingBrace) {
  EXPECT_EQ(Parse("hermes",
                  "<tool_call>{\"name\": \"f\", \"arguments\": {}}\n"
                  "<tool_call>{\"name\": \"g\", \"arguments\": {}}"),
            (JoinedAnswer{.calls = {{"f", "{}"}, {"g", "{}"}}}));
  EXPECT_EQ(Parse("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}\n</tool_call>"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}}}));
}

TEST(Hermes, TakesArgumentsBeforeTheNameAndInAString) {
  EXPECT_EQ(Parse("hermes", "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"f\"}</tool_call>"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}}}));
  EXPECT_EQ(Parse("hermes", R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}}}));
}

TEST(Hermes, LeavesWhatIsNoCallInTheContent) {
  for (const std::string text :
       {"<tool_call>{\"name\": 5}</tool_call>", "<tool_call>{\"nam", "<tool_call>f(1)</tool_call>",
        "<tool_call>{'name': 'f'}</tool_call>", "<tool_call>{}</tool_call>"}) {
    EXPECT_EQ(Parse("hermes", text), (JoinedAnswer{.content = text}));
  }
}

TEST(Hermes, KeepsTheArgumentsThatCameBeforeAnAnswerBrokeOff) {
  EXPECT_EQ(Parse("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": \"b"}}}));
  EXPECT_EQ(Parse("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1}}"),
            (JoinedAnswer{.content = "}}", .calls = {{"f", "{\"a\": [1"}}}));
}

TEST(LlamaJson, TakesBareAndMarkedCalls) {
  EXPECT_EQ(Parse("llama3_json",
                  "{\"name\": \"f\", \"parameters\": {\"a\": 1}}; {\"name\": "
                  "\"g\", \"parameters\": {}}"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}, {"g", "{}"}}}));
  EXPECT_EQ(Parse("llama4_json",
                  "<|python_tag|>{\"type\": \"function\", \"name\": \"f\", "
                  "\"parameters\": {}}"),
            (JoinedAnswer{.calls = {{"f", "{}"}}}));
}

TEST(LlamaJson, LeavesOtherJsonInTheContent) {
  for (const std::string text : {"{\"name\": \"Bob\", \"age\": 3}", "{\"name\": \"Bob\"}",
                                 "In C:\n{\n  int x;\n}\n", "{\"answer\": {\"name\": \"f\"}}"}) {
    EXPECT_EQ(Parse("llama3_json", text), (JoinedAnswer{.content = text}));
  }
}

TEST(Mistral, TakesOldAndNewForms) {
  EXPECT_EQ(Parse("mistral",
                  "Sure. [TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}}, "
                  "{\"name\": \"g\", \"arguments\": {}}]"),
            (JoinedAnswer{.content = "Sure. ", .calls = {{"f", "{\"a\": 1}"}, {"g", "{}"}}}));
  EXPECT_EQ(Parse("mistral", "[TOOL_CALLS]f{\"a\": 1}[TOOL_CALLS]g[ARGS]{\"b\": 2}"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}, {"g", "{\"b\": 2}"}}}));
  EXPECT_EQ(Parse("mistral", "[TOOL_CALLS]f[CALL_ID]abc123def[ARGS]{}"),
            (JoinedAnswer{.calls = {{"f", "{}"}}}));
}

TEST(Pythonic, TurnsLiteralsIntoJson) {
  EXPECT_EQ(Parse("pythonic",
                  "[f(a=1, b='it\\'s', c=\"\\\"q\\\"\", d=[1, 2.5, (3,)], e={'k': None, 2: True})"
                  ", g()]"),
            (JoinedAnswer{.calls = {{"f",
                                     "{\"a\": 1, \"b\": \"it's\", \"c\": \"\\\"q\\\"\", \"d\": [1, "
                                     "2.5, [3]], \"e\": {\"k\": null, \"2\": true}}"},
                                    {"g", "{}"}}}));
}

TEST(Pythonic, WritesJsonThatReads) {
  for (const std::string literal :
       {"''", "'''a''b'''", "\"\"\"x\ny\"\"\"", "0x1f", "-.5", "5.", "1_000", "007", "+3", "1e-3",
        "'\\x41\\u00e9\\U0001f600\\101\\q\\\n'", "'\t\x01'", "[]", "{}", "[[],]",
        "'\\ud83d\\ude00'", "()", "'\\x4'", "{'a': {1.5: [True, False, None]}}"}) {
    const JoinedAnswer answer = Parse("pythonic", "[f(v=" + literal + ")]");
    ASSERT_EQ(answer.calls.size(), 1U) << literal;
    EXPECT_EQ(answer.content, "") << literal;
    const Result<Json> json = ParseJson(answer.calls[0].arguments);
    EXPECT_TRUE(json.ok()) << literal << " → " << answer.calls[0].arguments;
  }
}

TEST(Pythonic, LeavesWhatIsNoCallInTheContent) {
  for (const std::string text :
       {"[link](http://x)", "[f(x)]", "[f(a=b)]", "[see f(a=1)]", "[]", "[1, 2]", "see [f(a=1)]",
        "[f(a=1+2)]", "[f(a=1", "[f.(a=1)", "[f(a=0x)]"}) {
    const JoinedAnswer answer = Parse("pythonic", text);
    EXPECT_EQ(answer.content, text);
  }
}

TEST(Pythonic, TakesMarkersThatModelsPutAround) {
  EXPECT_EQ(Parse("llama4_pythonic", "<|python_start|>[f(a=1)]<|python_end|>"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}}}));
  EXPECT_EQ(Parse("lfm2", "Ok. <|tool_call_start|>[f(a=1), g()]<|tool_call_end|>Done."),
            (JoinedAnswer{.content = "Ok. Done.", .calls = {{"f", "{\"a\": 1}"}, {"g", "{}"}}}));
}

TEST(Required, TakesAListOfCallsAndNothingElse) {
  const std::string text =
      "[{\"name\": \"f\", \"parameters\": {\"a\": 1}}, {\"name\": \"g\", \"parameters\": {}}]";
  EXPECT_EQ(ParseWhole(*MakeRequiredCallParser({}), text),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}, {"g", "{}"}}}));
}

TEST(Named, TakesTheWholeAnswerAsArguments) {
  EXPECT_EQ(ParseWhole(*MakeNamedCallParser({}, "f"), "{\"a\": 1}"),
            (JoinedAnswer{.calls = {{"f", "{\"a\": 1}"}}}));
  EXPECT_EQ(ParseWhole(*MakeNamedCallParser({}, "f"), ""), (JoinedAnswer{.calls = {{"f", "{}"}}}));
}

TEST(Reasoning, EndsAtItsMarker) {
  EXPECT_EQ(Reason("qwen3", "<think>\nhm\n</think>\n\nyes"),
            (JoinedAnswer{.reasoning = "\nhm\n", .content = "\n\nyes"}));
  EXPECT_EQ(Reason("deepseek_r1", "hm</think>yes"),
            (JoinedAnswer{.reasoning = "hm", .content = "yes"}));
  EXPECT_EQ(Reason("deepseek_r1", "<think>hm"), (JoinedAnswer{.reasoning = "hm"}));
}

TEST(Reasoning, BeginsAsThePromptLeftIt) {
  EXPECT_EQ(Reason("qwen3", "hm</think>yes", "assistant\n<think>\n"),
            (JoinedAnswer{.reasoning = "hm", .content = "yes"}));
  EXPECT_EQ(Reason("qwen3", "yes <think>", "<think>\n\n</think>\n\n"),
            (JoinedAnswer{.content = "yes <think>"}));
  EXPECT_EQ(Reason("qwen3", "yes", "assistant\n"), (JoinedAnswer{.content = "yes"}));
}

TEST(Reasoning, HidesCallsWithinIt) {
  const auto parser = Make("hermes", "qwen3", "<think>");
  EXPECT_EQ(ParseWhole(*parser,
                       "a <tool_call>{\"name\": \"f\"}</tool_call></think>"
                       "<tool_call>{\"name\": \"g\"}</tool_call>"),
            (JoinedAnswer{.reasoning = "a <tool_call>{\"name\": \"f\"}</tool_call>",
                          .calls = {{"g", "{}"}}}));
}

TEST(Harmony, TellsChannelsApart) {
  const auto parser = Make("openai", "gpt-oss", "<|start|>assistant");
  EXPECT_EQ(
      ParseWhole(*parser,
                 "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>"
                 "commentary<|message|>First. <|end|><|start|>assistant<|channel|>commentary "
                 "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>"),
      (JoinedAnswer{.reasoning = "hm", .content = "First. ", .calls = {{"f", "{\"a\": 1}"}}}));
}

TEST(Harmony, GoesOnWithTheHeaderThatThePromptBegan) {
  EXPECT_EQ(ParseWhole(*Make("openai", "gpt-oss", "<|start|>assistant<|channel|>final<|message|>"),
                       "Hi."),
            (JoinedAnswer{.content = "Hi."}));
  EXPECT_EQ(ParseWhole(*Make("openai", "gpt-oss", "<|start|>assistant"),
                       " to=functions.f<|channel|>commentary<|message|>{}"),
            (JoinedAnswer{.calls = {{"f", "{}"}}}));
  EXPECT_EQ(ParseWhole(*Make("openai", "gpt-oss", "<|start|>assistant"), "Plain text."),
            (JoinedAnswer{.content = "Plain text."}));
}

TEST(Harmony, LeavesCallsInTheContentWhereThereAreNoTools) {
  EXPECT_EQ(Reason("gpt-oss", "<|channel|>commentary to=functions.f<|message|>{}<|call|>"),
            (JoinedAnswer{.content = "{}"}));
}

}  // namespace
}  // namespace quire
