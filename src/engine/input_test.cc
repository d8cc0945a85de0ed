#include "engine/input.h"

#include <utility>

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace quire {
namespace {

InputProcessor MakeProcessor(std::int32_t max_model_len = 16,
                             const std::vector<std::string>& words = {}) {
  return InputProcessor({.vocab_size = 300,
                         .max_model_len = max_model_len,
                         .max_logprobs = 20,
                         .seed = 5,
                         .eos_token_ids = {kTestEos},
                         .max_new_tokens = std::nullopt},
                        MakeTestTokenizer(words));
}

PromptInput Text(std::string text) {
  PromptInput input;
  input.text = std::move(text);
  return input;
}

std::string Refusal(const InputProcessor& processor, PromptInput input) {
  const auto prepared = processor.Prepare(std::move(input), 0);
  if (prepared.ok()) return "accepted";
  EXPECT_EQ(prepared.status().code(), Code::kInvalidArgument);
  return prepared.status().message();
}

TEST(InputProcessor, RefusesPromptsWithoutATokenAndIdsOutOfRange) {
  const InputProcessor processor = MakeProcessor();
  EXPECT_NE(Refusal(processor, Text("")).find("prompt"), std::string::npos);
  PromptInput input;
  input.token_ids.emplace();
  EXPECT_NE(Refusal(processor, input).find("prompt"), std::string::npos);
  input.token_ids = {-1};
  EXPECT_NE(Refusal(processor, input).find("-1"), std::string::npos);
  input.token_ids = {300};
  EXPECT_NE(Refusal(processor, input).find("0 to 299"), std::string::npos);
}

TEST(InputProcessor, LetsAnInputFillItselfInFirst) {
  const InputProcessor processor = MakeProcessor(16);
  PromptInput input;
  input.prepare = [](PromptInput& self) -> Status {
    self.text = "xyz";
    return {};
  };
  EXPECT_EQ(processor.Prepare(input, 0)->prompt, (std::vector<TokenId>{'x', 'y', 'z'}));
  input.prepare = [](PromptInput&) { return InvalidArgument("messages: no"); };
  EXPECT_EQ(Refusal(processor, input), "messages: no");
}

TEST(InputProcessor, NamesBothLengthsOfAPromptThatLeavesNoRoom) {
  const InputProcessor processor = MakeProcessor(16);
  EXPECT_TRUE(processor.Prepare(Text(std::string(15, 'a')), 0).ok());
  const std::string message = Refusal(processor, Text(std::string(16, 'a')));
  EXPECT_NE(message.find("16 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("max_model_len is 16"), std::string::npos) << message;
}

TEST(InputProcessor, DoesNotReadAPromptThatIsFarTooLongToItsEnd) {
  const InputProcessor processor = MakeProcessor(16);
  EXPECT_NE(Refusal(processor, Text(std::string(32, 'x'))).find("has 32 tokens"),
            std::string::npos);
  const std::string refusal = Refusal(processor, Text(std::string(33, 'x')));
  EXPECT_EQ(refusal.find("prompt: has more than 32 tokens, but max_model_len is 16"), 0U)
      << refusal;
  PromptInput cut = Text(std::string(1000, 'x'));
  cut.sampling.truncate_prompt_tokens = 3;
  EXPECT_EQ(processor.Prepare(cut, 0)->prompt.size(), 3U);
  cut.text.assign((std::size_t{16} << 20) + 1, 'x');
  EXPECT_EQ(Refusal(processor, std::move(cut)).find("prompt: must be at most"), 0U);
}

TEST(InputProcessor, KeepsTheLastTokensOfATruncatedPrompt) {
  const InputProcessor processor = MakeProcessor(16);
  PromptInput input = Text("abcdefghijklmnopqrstuvwxyz");
  input.sampling.truncate_prompt_tokens = 3;
  EXPECT_EQ(processor.Prepare(input, 0)->prompt, (std::vector<TokenId>{'x', 'y', 'z'}));
  input.sampling.truncate_prompt_tokens = -1;
  input.sampling.max_tokens = 6;
  const auto prepared = processor.Prepare(input, 0);
  EXPECT_EQ(prepared->prompt.size(), 10U);
  EXPECT_EQ(prepared->max_tokens, 6);
}

TEST(InputProcessor, LimitsTokensToTheContextAndTheModelsOwnMost) {
  PromptInput input = Text("abcd");
  input.sampling.max_tokens.reset();
  EXPECT_EQ(MakeProcessor(16).Prepare(input, 0)->max_tokens, 12);
  input.sampling.max_tokens = 100;
  EXPECT_EQ(MakeProcessor(16).Prepare(input, 0)->max_tokens, 12);
  const InputProcessor capped({.vocab_size = 300,
                               .max_model_len = 16,
                               .max_logprobs = 20,
                               .seed = 0,
                               .eos_token_ids = {},
                               .max_new_tokens = 7},
                              MakeTestTokenizer());
  EXPECT_EQ(capped.Prepare(input, 0)->max_tokens, 7);
}

TEST(InputProcessor, SeedsWhatHasNoneFromTheEnginesSeedAndThePromptsNumber) {
  const InputProcessor processor = MakeProcessor();
  const std::uint64_t first = processor.Prepare(Text("a"), 0)->seed;
  EXPECT_EQ(processor.Prepare(Text("a"), 0)->seed, first);
  EXPECT_NE(processor.Prepare(Text("a"), 1)->seed, first);
  PromptInput seeded = Text("a");
  seeded.sampling.seed = 99;
  EXPECT_EQ(processor.Prepare(seeded, 1)->seed, 99U);
}

// A prompt whose reasoning stands between <think> and </think>.
PromptInput Thinking(std::string text, int budget = 2) {
  PromptInput input = Text(std::move(text));
  input.sampling.thinking_token_budget = budget;
  input.reasoning = ReasoningMarkers{.begin = "<think>", .end = "</think>"};
  return input;
}

TEST(InputProcessor, GivesABudgetOfTheReasoningTheTokensThatEndIt) {
  const InputProcessor processor = MakeProcessor(64, {"</think>"});
  const auto prepared = processor.Prepare(Thinking("ab<think>"), 0);
  ASSERT_TRUE(prepared.ok());
  ASSERT_NE(prepared->thinking, nullptr);
  EXPECT_EQ(prepared->thinking->max_tokens, 2);
  EXPECT_EQ(prepared->thinking->end_ids, std::vector<TokenId>{kFirstWordToken + 6});
  EXPECT_EQ(prepared->reasoning, ReasoningStage::kInside);
  EXPECT_EQ(processor.Prepare(Thinking("a", -1), 0)->thinking, nullptr);
  const auto bytes = MakeProcessor(64).Prepare(Thinking("a"), 0);
  EXPECT_EQ(bytes->thinking->end_ids,
            (std::vector<TokenId>{'<', '/', 't', 'h', 'i', 'n', 'k', '>'}));
}

// How far the reasoning is after the prompt, and what is left of a budget of five.
std::pair<ReasoningStage, int> After(const InputProcessor& processor, const PromptInput& input) {
  const auto prepared = processor.Prepare(input, 0);
  return {prepared->reasoning, prepared->thinking->max_tokens};
}

TEST(InputProcessor, ReadsOfTheEndOfAPromptHowFarItsReasoningIs) {
  using enum ReasoningStage;
  using State = std::pair<ReasoningStage, int>;
  const InputProcessor processor = MakeProcessor(64);
  struct Case {
    const char* text;
    State in_chat;
    State unmarked_in_chat;
    State in_text;
  };
  const std::vector<Case> cases = {
      {"ab", {kMayBegin, 5}, {kInside, 5}, {kMayBegin, 5}},
      {"<think> \n", {kInside, 3}, {kInside, 3}, {kInside, 3}},
      {"<think>so", {kMayBegin, 5}, {kInside, 5}, {kInside, 3}},
      {"<think>so long", {kMayBegin, 5}, {kInside, 5}, {kInside, 0}},
      {"<think>so</think>", {kOver, 5}, {kOver, 5}, {kOver, 5}},
      {"<think>so</think>it", {kMayBegin, 5}, {kInside, 5}, {kMayBegin, 5}},
      {"<think>so</think><think>a", {kMayBegin, 5}, {kInside, 5}, {kInside, 4}}};
  for (const Case& c : cases) {
    PromptInput input = Thinking(c.text, 5);
    EXPECT_EQ(After(processor, input), c.in_chat) << c.text;
    input.reasoning->begins_unmarked = true;
    EXPECT_EQ(After(processor, input), c.unmarked_in_chat) << c.text;
    input.may_continue_reasoning = true;
    EXPECT_EQ(After(processor, input), c.in_text) << c.text;
    const std::string text = c.text;
    input.token_ids = std::vector<TokenId>(text.begin(), text.end());
    input.text.clear();
    EXPECT_EQ(After(processor, input), c.in_text) << c.text;
  }
}

TEST(InputProcessor, RefusesABudgetOfReasoningThatItCannotFollow) {
  const InputProcessor processor = MakeProcessor(64);
  PromptInput input = Thinking("a");
  input.reasoning.reset();
  EXPECT_EQ(Refusal(processor, input),
            "thinking_token_budget: nothing is known here of how this model marks its reasoning");
  input = Thinking("a");
  input.reasoning->begin.clear();
  EXPECT_NE(Refusal(processor, input), "accepted");
  input = Thinking("a");
  StructuredOutputParams constraint;
  constraint.kind = ConstraintKind::kJsonObject;
  input.sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(constraint);
  EXPECT_EQ(Refusal(processor, input),
            "thinking_token_budget: excludes a constraint that holds for the reasoning too");
  constraint.reasoning = input.reasoning;
  input.sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(constraint);
  EXPECT_EQ(Refusal(processor, input), "accepted");
}

TEST(InputProcessor, FansOutWithSeedsThatCountUp) {
  const InputProcessor processor = MakeProcessor();
  PromptInput input = Text("abc");
  input.sampling.n = 3;
  input.sampling.seed = 10;
  input.sampling.prompt_logprobs = 2;
  const auto requests = FanOut(*processor.Prepare(input, 0), RequestId(40));
  ASSERT_EQ(requests.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(requests[i].id, RequestId(40 + static_cast<int>(i)));
    EXPECT_EQ(requests[i].seed, 10 + i);
    EXPECT_EQ(requests[i].sampling.n, 1);
    EXPECT_EQ(requests[i].prompt.size(), 3U);
    EXPECT_EQ(requests[i].sampling.prompt_logprobs.has_value(), i == 0);
  }
}

TEST(InputProcessor, SpellsBadWordsWithAndWithoutALeadingBlank) {
  const InputProcessor processor = MakeProcessor(16, {" no"});
  PromptInput input = Text("a");
  input.sampling.bad_words = {"no"};
  const auto prepared = processor.Prepare(input, 0);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->sampling.bad_words_ids,
            (std::vector<std::vector<TokenId>>{{'n', 'o'}, {kFirstWordToken + 1}}));
}

TEST(InputProcessor, NamesTheSamplingFieldThatIsOutOfRange) {
  PromptInput input = Text("a");
  input.sampling.top_p = 0.0;
  EXPECT_NE(Refusal(MakeProcessor(), input).find("top_p"), std::string::npos);
  input = Text("a");
  input.sampling.stop_token_ids = {999999};
  EXPECT_NE(Refusal(MakeProcessor(), input).find("stop_token_ids"), std::string::npos);
}

TEST(InputProcessor, TakesIdsAloneWhereThereIsNoTokenizer) {
  const InputProcessor processor({.vocab_size = 10,
                                  .max_model_len = 16,
                                  .max_logprobs = 20,
                                  .seed = 0,
                                  .eos_token_ids = {},
                                  .max_new_tokens = std::nullopt},
                                 nullptr);
  EXPECT_NE(Refusal(processor, Text("hi")).find("tokenizer"), std::string::npos);
  PromptInput input;
  input.token_ids = {1, 2};
  EXPECT_TRUE(processor.Prepare(input, 0).ok());
  input.sampling.stop = {"x"};
  EXPECT_NE(Refusal(processor, input).find("stop"), std::string::npos);
}

}  // namespace
}  // namespace quire
