// Answers that must look like something, asked for over the routes.
#include <algorithm>
#include <map>
#include <regex>

#include <gtest/gtest.h>
#include <malloc.h>

#include "exec/null_executor.h"
#include "server/api_testing.h"
#include "structured/grammar_cache.h"

namespace quire {
namespace {

constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kPath = "/v1/chat/completions";

std::string Body(std::string_view more = "") {
  return StrCat(R"({"messages":[{"role":"user","content":"hi"}])", more, "}");
}

// The one answer to a prompt under `constraint`, a member of structured_outputs.
Json Constrained(ApiRig& rig, const std::string& constraint, int max_tokens = 200) {
  return At(rig.PostOk(kCompletions, StrCat(R"({"prompt":"a","max_tokens":)", max_tokens,
                                            R"(,"structured_outputs":{)", constraint, "}}")),
            "choices", 0);
}

// Reasoning that no schema allows, and then more of it: what the schema does not allow becomes the
// lowest token that it does.
constexpr std::string_view kReasons = "why {\"b\": not? ";
constexpr std::string_view kConstraint =
    R"(,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":)"
    R"({"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"],)"
    R"("additionalProperties":false}}})";

TEST(Constraints, HoldForTheAnswerThatFollowsFreeReasoning) {
  struct Opening {
    const char* parser;
    const char* prompt_end;
    bool reasons;
  };
  for (const Opening& opening :
       {Opening{"deepseek_r1", "", true}, Opening{"qwen3", "<think>\n", true},
        Opening{"qwen3", "<think>\n\n</think>\n\n", false}}) {
    ApiOptions options = ApiRig::SmallOptions();
    options.reasoning_parser = opening.parser;
    options.chat_template = StrCat(kTestTemplate, opening.prompt_end);
    ApiRig rig(Says(StrCat(kReasons, "</think>not JSON at all, {{{ and on and on")), options);
    const Json reply = rig.PostOk(kPath, Body(kConstraint));
    const Json& message = At(reply, "choices", 0, "message");
    const JoinedChat joined =
        JoinChat(rig.Stream(kPath, Body(StrCat(kConstraint, R"(,"stream":true)"))));
    const std::string content = TextOf(At(message, "content"));
    EXPECT_EQ(joined.content, content);
    EXPECT_EQ(joined.finish_reason, "stop");
    EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("stop"));
    if (opening.reasons) {
      EXPECT_EQ(TextOf(At(message, "reasoning")), kReasons) << opening.parser;
      EXPECT_EQ(joined.reasoning, kReasons) << opening.parser;
    } else {
      EXPECT_TRUE(At(message, "reasoning").is_null());
      EXPECT_EQ(joined.reasoning, "");
    }
    const Result<Json> answer = ParseJson(content);
    ASSERT_TRUE(answer.ok()) << content;
    ASSERT_EQ(answer->object().size(), 1U) << content;
    EXPECT_TRUE(At(*answer, "a") == Json("x") || At(*answer, "a") == Json("y")) << content;
  }
}

TEST(Constraints, HoldForTheAnswerThatFollowsReasoningWhichABudgetEnded) {
  for (const char* parser : {"deepseek_r1", "qwen3"}) {
    ApiOptions options = ApiRig::SmallOptions();
    options.reasoning_parser = parser;
    options.chat_template = StrCat(kTestTemplate, "<think>");
    ApiRig rig(Says("thinks on and on and never comes to an end of it, not ever, not at all ever"),
               options);
    const std::string more = StrCat(kConstraint, R"(,"thinking_token_budget":6)");
    const Json reply = rig.PostOk(kPath, Body(more));
    EXPECT_EQ(At(reply, "choices", 0, "message", "reasoning"), Json("thinks"));
    EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("stop"));
    const std::string content = TextOf(At(reply, "choices", 0, "message", "content"));
    const Result<Json> answer = ParseJson(content);
    ASSERT_TRUE(answer.ok()) << content;
    EXPECT_TRUE(At(*answer, "a") == Json("x") || At(*answer, "a") == Json("y")) << content;
    const JoinedChat joined = JoinChat(rig.Stream(kPath, Body(more + R"(,"stream":true)")));
    EXPECT_EQ(joined.content, content);
    EXPECT_EQ(joined.reasoning, "thinks");
  }
}

TEST(Constraints, HoldForTheCallThatFollowsFreeReasoning) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "deepseek_r1";
  ApiRig rig(Says(StrCat(kReasons, "</think>no call at all, I would say")), options);
  const std::string more =
      R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
      R"("properties":{"a":{"enum":["x"]}},"required":["a"],"additionalProperties":false}}}],)"
      R"("tool_choice":)";
  for (const char* choice : {R"("required")", R"({"type":"function","function":{"name":"f"}})"}) {
    const Json reply = rig.PostOk(kPath, Body(StrCat(more, choice)));
    const Json& message = At(reply, "choices", 0, "message");
    EXPECT_EQ(TextOf(At(message, "reasoning")), kReasons);
    const JoinedChat joined =
        JoinChat(rig.Stream(kPath, Body(StrCat(more, choice, R"(,"stream":true)"))));
    EXPECT_EQ(joined.reasoning, kReasons);
    ASSERT_FALSE(joined.arguments.empty()) << choice;
    const Json& call = At(message, "tool_calls", 0, "function");
    EXPECT_EQ(TextOf(At(call, "arguments")), joined.arguments[0]);
    const Result<Json> arguments = ParseJson(joined.arguments[0]);
    ASSERT_TRUE(arguments.ok()) << joined.arguments[0];
    EXPECT_EQ(At(*arguments, "a"), Json("x"));
  }
}

TEST(Constraints, RequiredCallsAreMadeWhateverTheModelWouldSay) {
  ApiRig rig(Says("just prose, and no call"));
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
      R"("properties":{"a":{"enum":["x"]}},"required":["a"],"additionalProperties":false}}}])";
  // Nothing but the limit ends a list of calls that the model does not end.
  const Json required =
      rig.PostOk(kPath, Body(tools + R"(,"tool_choice":"required","max_tokens":1000)"));
  EXPECT_FALSE(At(required, "choices", 0, "message", "tool_calls").array().empty());
  ApiRig willing(Says(R"([{"name": "f", "parameters": {"a": "x"}}])"));
  const Json whole = willing.PostOk(kPath, Body(tools + R"(,"tool_choice":"required")"));
  EXPECT_EQ(At(whole, "choices", 0, "finish_reason"), Json("tool_calls"));
  EXPECT_EQ(At(whole, "choices", 0, "message", "tool_calls").array().size(), 1U);
  const Json named = rig.PostOk(
      kPath, Body(tools + R"(,"tool_choice":{"type":"function","function":{"name":"f"}})"));
  EXPECT_EQ(At(named, "choices", 0, "message", "tool_calls").array().size(), 1U);
  for (const std::string& more : {tools + R"(,"tool_choice":"none")", tools}) {
    const Json free = rig.PostOk(kPath, Body(more));
    EXPECT_EQ(At(free, "choices", 0, "finish_reason"), Json("stop"));
    EXPECT_EQ(At(free, "choices", 0, "message").Find("tool_calls"), nullptr);
  }
}

TEST(Constraints, ReferencesThatResolveToNothingAreRefusedByName) {
  ApiRig rig(Says("x"));
  for (const char* reference :
       {"/$defs/Color", "#/$defs/Missing", "types.json#/Color", "https://example.com/color.json"}) {
    const HttpResponse response = rig.Post(
        kCompletions, StrCat(R"({"prompt":"a","structured_outputs":{"json":{"type":"object",)",
                             R"("properties":{"c":{"$ref":")", reference, R"("}}}}})"));
    EXPECT_EQ(response.status, 400) << reference;
    EXPECT_NE(response.body.find(reference), std::string::npos) << response.body;
  }
}

TEST(Constraints, RecursiveSchemasWorkAndPureCyclesAreRefused) {
  ApiRig rig(Says("junk"));
  for (const char* schema :
       {R"({"$defs":{"n":{"type":"object","properties":{"value":{"type":"integer"},)"
        R"("children":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["value"]}},)"
        R"("$ref":"#/$defs/n"})",
        R"({"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}}},)"
        R"("b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"})",
        R"({"$defs":{"v":{"anyOf":[{"type":"string"},{"type":"array","items":)"
        R"({"$ref":"#/$defs/v"}}]}},"$ref":"#/$defs/v"})"}) {
    const Json answer = Constrained(rig, StrCat(R"("json":)", schema));
    if (At(answer, "finish_reason") != Json("stop")) continue;  // cut off at its limit
    EXPECT_TRUE(ParseJson(TextOf(At(answer, "text"))).ok()) << answer.Dump();
  }
  const Json word =
      Constrained(rig, R"("json":{"$defs":{"w":{"enum":["on","off"]}},"$ref":"#/$defs/w"})");
  const std::string text = TextOf(At(word, "text"));
  EXPECT_TRUE(text == "\"on\"" || text == "\"off\"") << text;
  const Json part = Constrained(
      rig,
      R"("json":{"type":"object","properties":{"a":{"anyOf":[{"const":1},{"const":22}]},)"
      R"("b":{"$ref":"#/properties/a/anyOf/1"}},"required":["b"],"additionalProperties":false})",
      1000);
  const Result<Json> object = ParseJson(TextOf(At(part, "text")));
  ASSERT_TRUE(object.ok()) << part.Dump();
  EXPECT_EQ(At(*object, "b"), Json(22));
  for (const char* cycle :
       {R"({"$ref":"#"})", R"({"$defs":{"a":{"$ref":"#/$defs/b"},)"
                           R"("b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})"}) {
    rig.Refused(kCompletions,
                StrCat(R"({"prompt":"a","structured_outputs":{"json":)", cycle, "}}"));
  }
}

// A candidate that matches is what the model says; one that does not becomes something else.
TEST(Constraints, PatternsOfStringsAreSearchedFor) {
  for (const std::string candidate : {"xqx", "qx", "xq", "q", "xz"}) {
    ApiRig rig(Says(StrCat("\"", candidate, "\"")));
    for (const std::string pattern : {"q", "^q", "q$", "^q|z$", ""}) {
      const Json answer =
          Constrained(rig, StrCat(R"("json":{"type":"string","pattern":")", pattern, R"("})"), 40);
      const bool matches = std::regex_search(candidate, std::regex(pattern));
      EXPECT_EQ(TextOf(At(answer, "text")) == StrCat("\"", candidate, "\""), matches)
          << pattern << " " << answer.Dump();
    }
  }
}

TEST(Constraints, LiteralsComeByteForByte) {
  const std::vector<std::string> choices = {"No. 7", "a|b", "(x)", "50%+", R"(say "hi")"};
  Json list = Json(JsonArray(choices.begin(), choices.end()));
  for (const std::string& choice : choices) {
    ApiRig rig(Says(choice));
    const Json answer = Constrained(rig, StrCat(R"("choice":)", list.Dump()));
    EXPECT_EQ(At(answer, "text"), Json(choice));
    EXPECT_EQ(At(answer, "finish_reason"), Json("stop"));
  }
  ApiRig rig(Says("none of them"));
  const std::string any = TextOf(At(Constrained(rig, StrCat(R"("choice":)", list.Dump())), "text"));
  EXPECT_NE(std::ranges::find(choices, any), choices.end()) << any;
  for (const std::string& value :
       {StrCat("line\n", std::string(20, ' '), "end"), std::string("back\\slash")}) {
    const Json answer = Constrained(rig, StrCat(R"("json":{"const":)", Json(value).Dump(), "}"));
    const Result<Json> said = ParseJson(TextOf(At(answer, "text")));
    ASSERT_TRUE(said.ok()) << answer.Dump();
    EXPECT_EQ(*said, Json(value));
  }
}

TEST(Constraints, WhatCannotBeEnforcedIsRefusedBeforeItIsScheduled) {
  ApiRig rig(Says("x"));
  for (const char* constraint :
       {R"("regex":"a**")", R"("regex":"(")", R"("regex":"[]")", R"("regex":"(a)\\1")",
        R"("json":{"enum":[]})", R"("json":{"type":"strng"})",
        R"("json":{"type":"array","minItems":3,"maxItems":1})", R"("json":[])", R"("json":false)",
        R"("choice":[])", R"x("grammar":"root ::= (")x"}) {
    const std::string body =
        StrCat(R"({"prompt":"a","max_tokens":4,"structured_outputs":{)", constraint, "}}");
    const std::string param = rig.Refused(kCompletions, body);
    EXPECT_TRUE(param.starts_with("structured_outputs")) << body << " " << param;
  }
  rig.engine().Drain();
  EXPECT_EQ(rig.engine().stats().num_generated_tokens, 0);
  const std::pair<const char*, const char*> valid[] = {
      {R"("regex":"(a|)b")", "(a|)b"}, {R"("regex":"(?:x)y")", "xy"}, {R"("regex":"a+?")", "a+"}};
  for (const auto& [constraint, pattern] : valid) {
    const std::string text = TextOf(At(Constrained(rig, constraint), "text"));
    EXPECT_TRUE(std::regex_match(text, std::regex(pattern))) << text;
  }
}

// The model would write nothing but blanks.
TEST(Constraints, BlanksBetweenTheTokensOfAnObjectAreBounded) {
  for (const char* blank : {" ", "\n"}) {
    std::string blanks;
    for (int i = 0; i < 400; ++i) blanks += blank;
    ApiRig rig(Says(blanks));
    const Json answer = Constrained(
        rig,
        R"("json":{"type":"object","properties":{"a":{"enum":["p q"]},"b":{"type":"null"}},)"
        R"("required":["a","b"],"additionalProperties":false})",
        400);
    EXPECT_EQ(At(answer, "finish_reason"), Json("stop"));
    const Result<Json> object = ParseJson(TextOf(At(answer, "text")));
    ASSERT_TRUE(object.ok()) << answer.Dump();
    EXPECT_EQ(At(*object, "a"), Json("p q"));
  }
}

TEST(Constraints, DeepSchemasAreRefusedAndOthersAreServed) {
  ApiRig rig(Says("x"));
  std::string deep = R"({"type":"null"})";
  for (int i = 0; i < 2000; ++i) deep = StrCat(R"({"type":"array","items":)", deep, "}");
  EXPECT_EQ(
      rig.Post(kCompletions, StrCat(R"({"prompt":"a","structured_outputs":{"json":)", deep, "}}"))
          .status,
      400);
  rig.PostOk(kCompletions, R"({"prompt":"a"})");
}

// A schema whose one property has a name of its own.
std::string SchemaOf(int number) {
  return StrCat(R"({"type":"object","properties":{"p)", number, R"(":{"const":)", number,
                R"(}},"required":["p)", number, R"("],"additionalProperties":false})");
}

TEST(Constraints, OfManySchemasAreEachObeyedBesideAStreamAndCostNoMoreThanTheirGrammars) {
  constexpr int kNumSchemas = 300;
  constexpr int kNumFirst = 100;  // until all that is made once is made
  constexpr std::size_t kMostBytesOfOne = 64 << 10;
  ApiRig rig(Says(std::string(1000, 'j')));
  const auto stream =
      rig.Begin("POST", kCompletions, R"({"prompt":"a","stream":true,"max_tokens":1000})");
  std::size_t num_bytes = 0;
  for (int i = 0; i < kNumSchemas; ++i) {
    if (i == kNumFirst) num_bytes = mallinfo2().uordblks;
    const Json answer = Constrained(rig, StrCat(R"("json":)", SchemaOf(i)));
    const Result<Json> object = ParseJson(TextOf(At(answer, "text")));
    ASSERT_TRUE(object.ok()) << answer.Dump();
    EXPECT_EQ(At(*object, StrCat("p", i)), Json(i));
  }
  EXPECT_LT(mallinfo2().uordblks, num_bytes + (kNumSchemas - kNumFirst) * kMostBytesOfOne);
  EXPECT_EQ(JoinedText(EventsOf(stream->WaitForEnd().body)), std::string(1000, 'j'));
}

StructuredOutputParams ParamsOf(int number) {
  StructuredOutputParams params;
  params.kind = ConstraintKind::kJson;
  params.text = SchemaOf(number);
  return params;
}

TEST(Constraints, OfAThousandSchemasAreKeptWithinABound) {
  constexpr std::size_t kMaxBytes = 256 << 10;
  GrammarCache cache({.vocab_size = 300, .end_ids = {kTestEos}, .max_bytes = kMaxBytes},
                     MakeTestTokenizer());
  constexpr int kNumSchemas = 1000;
  for (int i = 0; i < kNumSchemas; ++i) {
    ASSERT_TRUE(cache.Compile(ParamsOf(i)).ok());
    ASSERT_LE(cache.num_bytes(), kMaxBytes) << i;
    ASSERT_NE(cache.Find(ParamsOf(0)).grammar, nullptr) << "it is asked for all the time";
  }
  EXPECT_LT(cache.num_grammars(), std::size_t{kNumSchemas / 2});
  EXPECT_EQ(cache.Find(ParamsOf(1)).grammar, nullptr) << "nobody has asked for it again";
  EXPECT_NE(cache.Find(ParamsOf(kNumSchemas - 1)).grammar, nullptr);
}

// Makes the masks along `text`; gives how much the grammar has grown by it.
std::size_t GrowthBy(std::string_view text, const CachedGrammar& cached) {
  const std::size_t num_before = cached.grammar->num_bytes();
  const auto matcher = cached.grammar->NewMatcher();
  std::vector<std::uint32_t> mask(10);
  for (const char byte : text) {
    matcher->Fill(mask);
    EXPECT_TRUE(matcher->Accept(byte)) << text;
  }
  return cached.grammar->num_bytes() - num_before;
}

// A grammar so long that its masks are made when they are asked for.
StructuredOutputParams LongParamsOf(int number) {
  std::string properties;
  std::string names;
  for (int i = 100; i < 500; ++i) {
    const std::string_view comma = i == 100 ? "" : ",";
    properties += StrCat(comma, R"("p)", number, "x", i, R"(":{"const":)", i, "}");
    names += StrCat(comma, R"("p)", number, "x", i, R"(")");
  }
  StructuredOutputParams params;
  params.kind = ConstraintKind::kJson;
  params.text = StrCat(R"({"type":"object","properties":{)", properties, R"(},"required":[)", names,
                       R"(],"additionalProperties":false})");
  return params;
}

TEST(Constraints, MasksMadeSinceTheirGrammarCameAreCountedWithTheNextOne) {
  GrammarCache cache({.vocab_size = 300, .end_ids = {kTestEos}}, MakeTestTokenizer());
  CachedGrammar first = *cache.Compile(LongParamsOf(1));
  std::size_t expected = cache.num_bytes();
  const std::size_t num_key_bytes = expected - first.grammar->num_bytes();
  const auto count_next = [&](int number) {
    const CachedGrammar next = *cache.Compile(LongParamsOf(number));
    expected += next.grammar->num_bytes() + num_key_bytes;
    EXPECT_EQ(cache.num_bytes(), expected) << number;
    expected += GrowthBy(R"({"p)", next);
  };
  std::size_t growth = GrowthBy(R"({"p)", first);
  EXPECT_GT(growth, 0U);
  EXPECT_EQ(cache.num_bytes(), expected);
  expected += growth;
  count_next(2);
  first = {};
  count_next(3);  // what grew has no user now
  first = cache.Find(LongParamsOf(1));
  growth = GrowthBy(R"({"p1x100":100,"p1x)", first);
  EXPECT_GT(growth, 0U);
  expected += growth;
  count_next(4);
}

// Fails each answer at its fourth token, as a worker does where a constraint leaves none.
class DeadEnd : public NullExecutor {
 public:
  explicit DeadEnd(std::string why)
      : NullExecutor(SmallFacts(300, 2048), [](RequestId, std::int32_t) { return 'a'; }),
        why_(std::move(why)) {}
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    QUIRE_RETURN_IF_ERROR(NullExecutor::Finish(plan, masks, out));
    for (RowResult& row : out.rows) {
      if (row.tokens.empty() || ++num_tokens_[row.id] < 4) continue;
      row.tokens.clear();
      row.logprobs.clear();
      row.error = InvalidArgument(why_);
    }
    return {};
  }

 private:
  const std::string why_;
  std::map<RequestId, int> num_tokens_;
};

TEST(Constraints, AnAnswerThatFailsEndsWithAnErrorThatNamesThem) {
  ApiRig rig([]() -> Result<std::unique_ptr<Executor>> {
    return std::unique_ptr<Executor>(
        new DeadEnd("structured_outputs: the grammar leaves no token to choose"));
  });
  const std::pair<const char*, const char*> requests[] = {
      {kCompletions, R"("prompt":"a","guided_regex":"a*")"},
      {kPath, R"("messages":[{"role":"user","content":"q"}],"guided_regex":"a*")"}};
  for (const auto& [path, request] : requests) {
    EXPECT_EQ(rig.Refused(path, StrCat("{", request, "}")), "guided_regex");
    const HttpResponse response = rig.Post(path, StrCat("{", request, R"(,"stream":true})"));
    EXPECT_EQ(response.status, 200) << "three tokens had gone out";
    EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
    const std::vector<Json> events = EventsOf(response.body);
    ASSERT_GE(events.size(), 2U);
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      for (const char* member : {"id", "object", "created", "model"}) {
        EXPECT_EQ(At(events[i], member), At(events[0], member));
        EXPECT_NE(events[i].Find(member), nullptr);
      }
      EXPECT_EQ(At(events[i], "choices").array().size(), 1U);
    }
    const Json& error = At(events.back(), "error");
    EXPECT_EQ(At(error, "param"), Json("guided_regex"));
    EXPECT_EQ(At(error, "code"), Json(400));
    EXPECT_EQ(At(error, "type"), Json("BadRequestError"));
    EXPECT_NE(TextOf(At(error, "message")).find("leaves no token"), std::string::npos);
  }
}

}  // namespace
}  // namespace quire
