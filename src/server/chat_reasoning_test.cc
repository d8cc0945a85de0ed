// How chats tell the reasoning from the answer, and bound it.
#include <optional>

#include <gtest/gtest.h>

#include "server/chat_testing.h"
#include "server/openai_chat.h"

namespace quire {
namespace {

TEST(ChatReasoning, TellsReasoningFromContent) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "qwen3";
  ApiRig rig(Says("<think>why</think>because"), options);
  const Json reply = rig.PostOk(kPath, Body());
  EXPECT_EQ(At(reply, "choices", 0, "message", "content"), Json("because"));
  EXPECT_EQ(At(reply, "choices", 0, "message", "reasoning"), Json("why"));
  EXPECT_EQ(At(reply, "choices", 0, "message", "reasoning_content"), Json("why"));
  const JoinedChat joined = JoinChat(rig.Stream(kPath, Body(R"(,"stream":true)")));
  EXPECT_EQ(joined.content, "because");
  EXPECT_EQ(joined.reasoning, "why");
  const Json hidden = rig.PostOk(kPath, Body(R"(,"include_reasoning":false)"));
  EXPECT_TRUE(At(hidden, "choices", 0, "message", "reasoning").is_null());
}

// Of a model that would think for ever, under a budget: the reasoning and the answer.
TEST(ChatReasoning, EndsReasoningThatHasUsedUpItsBudget) {
  struct Case {
    const char* parser;
    const char* prompt_end;
    const char* says;
    const char* reasoning;
    const char* content;
  };
  // The forced marker stands in the place of what the model would say there.
  for (const Case& c :
       {Case{"qwen3", "<think>", "0123456789abcdef", "012", "bcdef"},
        Case{"qwen3", "", "<think>0123456789abcdef", "012", "bcdef"},
        Case{"deepseek_r1", "", "0123456789abcdef", "012", "bcdef"},
        Case{"qwen3", "<think></think>", "0123456789abcdef", "", "0123456789abcdef"},
        Case{"qwen3", "", "0123456789abcdef", "", "0123456789abcdef"},
        Case{"qwen3", "<think>", "0</think>1234", "0", "1234"}}) {
    ApiOptions options = ApiRig::SmallOptions();
    options.reasoning_parser = c.parser;
    options.chat_template = StrCat(kTestTemplate, c.prompt_end);
    ApiRig rig(Says(c.says), options);
    const Json reply = rig.PostOk(kPath, Body(R"(,"thinking_token_budget":3,"n":2)"));
    for (int i = 0; i < 2; ++i) {
      const Json& message = At(reply, "choices", i, "message");
      EXPECT_EQ(TextOf(At(message, "reasoning")), c.reasoning) << c.says;
      EXPECT_EQ(TextOf(At(message, "content")), c.content) << c.says;
      EXPECT_EQ(At(reply, "choices", i, "finish_reason"), Json("stop"));
    }
    const JoinedChat joined =
        JoinChat(rig.Stream(kPath, Body(R"(,"thinking_token_budget":3,"stream":true)")));
    EXPECT_EQ(joined.reasoning, c.reasoning);
    EXPECT_EQ(joined.content, c.content);
    EXPECT_EQ(joined.finish_reason, "stop");
  }
}

TEST(ChatReasoning, TakesAnyBudgetOfTheReasoningWhereReasoningIsToldApart) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "qwen3";
  options.chat_template = StrCat(kTestTemplate, "<think>");
  ApiRig rig(Says("0123456789"), options);
  const auto reasoning = [&](std::string_view budget) {
    const Json reply = rig.PostOk(kPath, Body(StrCat(R"(,"thinking_token_budget":)", budget)));
    return TextOf(At(reply, "choices", 0, "message", "reasoning"));
  };
  EXPECT_EQ(reasoning("0"), "");
  EXPECT_EQ(reasoning("1"), "0");
  EXPECT_EQ(reasoning("1000"), "0123456789");
  EXPECT_EQ(reasoning("-1"), "0123456789");
  EXPECT_EQ(reasoning("null"), "0123456789");
  for (const char* budget : {"-2", "1.5", "\"few\"", "[]"}) {
    EXPECT_EQ(rig.Refused(kPath, Body(StrCat(R"(,"thinking_token_budget":)", budget))),
              "thinking_token_budget");
  }
  const Json words = rig.PostOk("/v1/completions", R"({"prompt":"<think>a","max_tokens":12,)"
                                                   R"("thinking_token_budget":2})");
  EXPECT_EQ(At(words, "choices", 0, "text"), Json("0</think>9"));
  const Json tokens = rig.PostOk("/v1/responses", R"({"input":"a","thinking_token_budget":2})");
  EXPECT_EQ(At(tokens, "usage", "output_tokens"), Json(11));
  EXPECT_EQ(At(tokens, "output", 0, "content", 0, "text"), Json("01"));
}

TEST(ChatReasoning, RefusesABudgetOfReasoningThatIsNotToldApart) {
  ApiRig plain(Says("ab"));
  EXPECT_EQ(plain.Refused(kPath, Body(R"(,"thinking_token_budget":3)")), "thinking_token_budget");
  EXPECT_EQ(plain.Refused("/v1/completions", R"({"prompt":"a","thinking_token_budget":3})"),
            "thinking_token_budget");
  plain.PostOk(kPath, Body(R"(,"thinking_token_budget":-1)"));
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "gpt-oss";
  ApiRig harmony(Says("ab"), options);
  EXPECT_EQ(harmony.Refused(kPath, Body(R"(,"thinking_token_budget":3)")), "thinking_token_budget");
}

// A message that is continued, and what of the answer is reasoning and what is not.
struct Continued {
  const char* parser;
  const char* message;  // members beside the role
  const char* says;
  const char* reasoning;
  const char* content;
};

constexpr Continued kContinued[] = {
    // The message stands in the midst of the reasoning.
    {"qwen3", R"("content":"<think>so")", "why</think>because", "why", "because"},
    {"deepseek_r1", R"("content":"<think>so")", "why</think>because", "why", "because"},
    {"seed_oss", R"("content":"a<seed:think>so")", "why</seed:think>because", "why", "because"},
    {"qwen3", R"("content":[{"type":"text","text":"a"},{"type":"text","text":"<think>so"}])",
     "why</think>because", "why", "because"},
    {"qwen3", R"("content":"<think>a</think>b<think>so")", "why</think>because", "why", "because"},
    // The reasoning is over.
    {"qwen3", R"("content":"<think>so</think>it")", " is <think>", "", " is <think>"},
    {"deepseek_r1", R"("content":"<think>so</think>it")", " is", "", " is"},
    {"deepseek_r1", R"("content":"so</think>it")", " is", "", " is"},
    {"deepseek_r1", R"("content":"it","reasoning":"so")", " is", "", " is"},
    {"deepseek_r1", R"("content":"it","reasoning_content":"so")", " is", "", " is"},
    // Nothing tells: as at the start of an answer.
    {"qwen3", R"("content":"it")", " is", "", " is"},
    {"deepseek_r1", R"("content":"it")", " is", " is", ""},
};

std::string ContinuingBody(const Continued& c, std::string_view more) {
  return Body(StrCat(R"(,"add_generation_prompt":false,"continue_final_message":true)", more),
              StrCat(R"([{"role":"user","content":"say </think> and <think>"},)",
                     R"({"role":"assistant",)", c.message, "}]"));
}

TEST(ChatReasoning, GoesOnWhereTheMessageThatIsContinuedLeftIt) {
  for (const Continued& c : kContinued) {
    ApiOptions options = ApiRig::SmallOptions();
    options.reasoning_parser = c.parser;
    ApiRig rig(Says(c.says), options);
    // A budget that is not reached changes nothing.
    for (const char* more : {"", R"(,"thinking_token_budget":100)"}) {
      const Json reply = rig.PostOk(kPath, ContinuingBody(c, more));
      const Json& message = At(reply, "choices", 0, "message");
      EXPECT_EQ(TextOf(At(message, "reasoning")), c.reasoning) << c.parser << c.message;
      EXPECT_EQ(TextOf(At(message, "content")), c.content) << c.parser << c.message;
      const JoinedChat joined =
          JoinChat(rig.Stream(kPath, ContinuingBody(c, StrCat(more, R"(,"stream":true)"))));
      EXPECT_EQ(joined.reasoning, c.reasoning) << c.parser << c.message;
      EXPECT_EQ(joined.content, c.content) << c.parser << c.message;
    }
  }
}

TEST(ChatReasoning, CountsWhatAContinuedMessageHasUsedOfTheBudget) {
  for (const Continued& c : kContinued) {
    ApiOptions options = ApiRig::SmallOptions();
    options.reasoning_parser = c.parser;
    ApiRig rig(Says("0123456789abcdef0123456789abcdef"), options);
    const Json reply = rig.PostOk(kPath, ContinuingBody(c, R"(,"thinking_token_budget":4)"));
    const std::string text = TextOf(At(reply, "choices", 0, "message", "reasoning"));
    const bool is_inside = std::string_view(c.says).starts_with("why");
    const bool is_over = !is_inside && std::string_view(c.reasoning).empty();
    // Two tokens are those of "so".
    const char* wanted = is_inside ? "01" : is_over ? "" : "0123";
    EXPECT_EQ(text, wanted) << c.parser << c.message;
  }
}

TEST(ChatReasoning, HoldsAConstraintFromWhereAContinuedMessageHasEndedIt) {
  for (const Continued& c : kContinued) {
    if (std::string_view(c.message) == R"("content":"it")") continue;  // may still begin
    ApiOptions options = ApiRig::SmallOptions();
    options.reasoning_parser = c.parser;
    ApiRig rig(Says(c.says), options);
    const Json reply =
        rig.PostOk(kPath, ContinuingBody(c, R"(,"structured_outputs":{"choice":["ox","elk"]})"));
    const Json& message = At(reply, "choices", 0, "message");
    EXPECT_EQ(TextOf(At(message, "reasoning")), c.reasoning) << c.parser << c.message;
    const std::string content = TextOf(At(message, "content"));
    EXPECT_TRUE(content == "ox" || content == "elk") << c.parser << c.message << content;
  }
}

}  // namespace
}  // namespace quire
