// Constrained requests through the whole engine, over a device that draws among allowed tokens.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "engine/async_engine.h"
#include "engine/llm.h"
#include "engine/testing.h"
#include "exec/null_executor.h"
#include "exec/thread_executor.h"
#include "structured/backend.h"

namespace quire {
namespace {

constexpr int kVocab = 300;
constexpr int kMaxModelLen = 128;

// Draws each token by request, place and mask alone, as a model does by its logits; end tokens are
// three times as likely as others.
class MaskedExecutor : public Executor {
 public:
  // What it was asked to obey: the mask of each place of each request's answer.
  using Masks = std::map<std::pair<RequestId, std::int32_t>, std::vector<std::uint32_t>>;

  explicit MaskedExecutor(bool is_aside = false, Masks* seen = nullptr)
      : is_aside_(is_aside),
        seen_(seen),
        inner_(NullExecutor::SmallFacts(kVocab, kMaxModelLen),
               [this](RequestId id, std::int32_t idx) { return Draw(id, idx); }) {}

  const ModelFacts& facts() const override { return inner_.facts(); }
  Status InitKvCache(const KvCachePlan& plan) override { return inner_.InitKvCache(plan); }
  Status Begin(const StepPlan& plan) override { return inner_.Begin(plan); }
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    EXPECT_EQ(masks.step_id, plan.step_id);
    plan_ = &plan;
    masks_ = &masks;
    drawn_.clear();
    return inner_.Finish(plan, masks, out);
  }
  bool computes_aside() const override { return is_aside_; }

 private:
  TokenId Draw(RequestId id, std::int32_t idx) {
    const int draft = drawn_[id]++;
    const std::uint32_t* mask = nullptr;
    for (const ScheduledRow& row : plan_->rows) {
      if (row.id != id || row.grammar_row < 0) continue;
      const std::size_t words = (kVocab + 31) / 32;
      mask = masks_->words.data() + (static_cast<std::size_t>(row.grammar_row + draft)) * words;
      if (seen_ != nullptr) (*seen_)[{id, idx}].assign(mask, mask + words);
    }
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token <= kTestEos; ++token) {
      if (mask != nullptr && (mask[token / 32] >> (token % 32) & 1) == 0) continue;
      allowed.insert(allowed.end(), token == kTestEos || token == '"' || token == '}' ? 3 : 1,
                     token);
    }
    if (allowed.empty()) return 0;
    const auto words = Philox(
        {static_cast<std::uint32_t>(id.value()), static_cast<std::uint32_t>(idx), 0, 0}, {7, 7});
    return allowed[words[0] % allowed.size()];
  }

  const bool is_aside_;
  Masks* const seen_;
  const StepPlan* plan_ = nullptr;
  const StepMasks* masks_ = nullptr;
  std::map<RequestId, int> drawn_;
  NullExecutor inner_;
};

EngineConfig ConfigOf(int num_blocks) {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = num_blocks;
  config.scheduler.max_num_seqs = 16;
  config.scheduler.max_num_batched_tokens = 64;
  return config;
}

std::unique_ptr<Llm> MakeLlm(int num_blocks = 200, std::unique_ptr<Executor> executor = nullptr) {
  if (executor == nullptr) executor = std::make_unique<MaskedExecutor>();
  auto llm = Llm::CreateOver(ConfigOf(num_blocks), std::move(executor), MakeTestTokenizer());
  EXPECT_TRUE(llm.ok()) << llm.status().message();
  return *std::move(llm);
}

PromptInput Constrained(ConstraintKind kind, std::string text, int max_tokens = 100) {
  PromptInput input;
  input.text = "prompt";
  input.sampling.max_tokens = max_tokens;
  StructuredOutputParams params;
  params.kind = kind;
  params.text = std::move(text);
  input.sampling.structured_outputs =
      std::make_shared<const StructuredOutputParams>(std::move(params));
  return input;
}

const char kSchema[] =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["name","age"],"additionalProperties":false})";

PromptInput Person() {
  PromptInput input = Constrained(ConstraintKind::kJson, kSchema);
  auto params = *input.sampling.structured_outputs;
  params.disable_any_whitespace = true;
  input.sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(params);
  return input;
}

void ExpectPerson(const CompletionOutput& answer) {
  EXPECT_EQ(answer.finish_reason, FinishReason::kStop) << answer.text;
  const auto parsed = ParseJson(answer.text);
  ASSERT_TRUE(parsed.ok()) << answer.text;
  EXPECT_TRUE(parsed->Find("name")->is_string());
  EXPECT_GE(parsed->Find("age")->integer(), 0);
  EXPECT_LE(parsed->Find("age")->integer(), 120);
}

TEST(StructuredOutput, EveryAnswerConformsAndEndsByItself) {
  const auto llm = MakeLlm();
  PromptInput input = Person();
  input.sampling.n = 8;
  const auto results = llm->Generate({input, Person(), Person()}, {});
  for (const RequestOutput& result : results) {
    ASSERT_TRUE(result.error.ok()) << result.error.message();
    for (const CompletionOutput& answer : result.outputs) ExpectPerson(answer);
  }
  EXPECT_EQ(results[0].outputs.size(), 8U);
}

TEST(StructuredOutput, PreemptionAndCompanyChangeNothing) {
  // Twelve requests of up to 110 tokens in 10 blocks' worth of 16: most are preempted.
  std::vector<PromptInput> prompts(12, Person());
  const auto crowded_llm = MakeLlm(12);
  const auto crowded = crowded_llm->Generate(prompts, {});
  EXPECT_GT(crowded_llm->stats().num_preemptions, 0);
  const auto roomy = MakeLlm()->Generate(prompts, {});
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_TRUE(crowded[i].error.ok()) << crowded[i].error.message();
    EXPECT_EQ(crowded[i].outputs[0].text, roomy[i].outputs[0].text);
    EXPECT_EQ(crowded[i].outputs[0].token_ids, roomy[i].outputs[0].token_ids);
    ExpectPerson(crowded[i].outputs[0]);
  }
}

TEST(StructuredOutput, AConstraintThatAllowsOneTextBringsThatTextInFewerSteps) {
  const auto llm = MakeLlm();
  std::vector<RequestOutput> outputs;
  ASSERT_TRUE(
      llm->Submit("a", Constrained(ConstraintKind::kRegex, "exactly this text, no other")).ok());
  int num_steps = 0;
  RequestOutput last;
  while (llm->has_unfinished()) {
    ASSERT_TRUE(llm->Step(outputs).ok());
    ++num_steps;
    if (!outputs.empty()) last = outputs.back();
  }
  EXPECT_EQ(last.outputs[0].text, "exactly this text, no other");
  EXPECT_EQ(last.outputs[0].finish_reason, FinishReason::kStop);
  EXPECT_LT(num_steps, 10);
}

TEST(StructuredOutput, ATruncatedAnswerSaysLength) {
  const auto results =
      MakeLlm()->Generate({Constrained(ConstraintKind::kRegex, "[a-z]{50}", 10)}, {});
  EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ(results[0].outputs[0].token_ids.size(), 10U);
}

TEST(StructuredOutput, MinTokensEndWhereTheGrammarDoes) {
  PromptInput input = Constrained(ConstraintKind::kRegex, "yes|no");
  input.sampling.min_tokens = 20;
  const auto results = MakeLlm()->Generate({input}, {});
  ASSERT_TRUE(results[0].error.ok()) << results[0].error.message();
  EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kStop);
  const std::string& text = results[0].outputs[0].text;
  EXPECT_TRUE(text == "yes" || text == "no") << text;
}

TEST(StructuredOutput, AnAnswerThatIsForcedToItsLastTokenEndsWithoutAnEndTokenToo) {
  // min_tokens takes the end token away; the last step has no token more to give.
  for (const int length : {1, 2, 7, 8, 9, 16, 17}) {
    PromptInput input =
        Constrained(ConstraintKind::kRegex, std::string(static_cast<std::size_t>(length), 'x'));
    input.sampling.min_tokens = 90;
    const auto results = MakeLlm()->Generate({input}, {});
    ASSERT_TRUE(results[0].error.ok()) << results[0].error.message();
    EXPECT_EQ(results[0].outputs[0].token_ids.size(), static_cast<std::size_t>(length));
    EXPECT_EQ(results[0].outputs[0].text, std::string(static_cast<std::size_t>(length), 'x'));
    EXPECT_EQ(results[0].outputs[0].finish_reason, FinishReason::kStop);
  }
}

TEST(StructuredOutput, AnAnswerThatCannotFitIsServedWithAWarning) {
  const auto results = MakeLlm()->Generate({Constrained(ConstraintKind::kRegex, "[a-z]{50}", 10),
                                            Constrained(ConstraintKind::kRegex, "[a-z]{50}", 51)},
                                           {});
  EXPECT_NE(results[0].warning.find("about 50 tokens, but max_tokens is 10"), std::string::npos)
      << results[0].warning;
  EXPECT_EQ(results[1].warning, "");
  EXPECT_EQ(results[1].outputs[0].finish_reason, FinishReason::kStop);
}

TEST(StructuredOutput, ReasoningGoesBeforeTheConstraintAsThePromptHasIt) {
  const auto run = [](std::string prompt, bool begins_unmarked) {
    PromptInput input = Constrained(ConstraintKind::kRegex, "[0-9]{4}", 60);
    input.text = std::move(prompt);
    auto params = *input.sampling.structured_outputs;
    params.reasoning =
        ReasoningMarkers{.begin = "(", .end = ")", .begins_unmarked = begins_unmarked};
    input.sampling.structured_outputs = std::make_shared<const StructuredOutputParams>(params);
    input.sampling.n = 8;
    std::vector<std::string> texts;
    const auto results = MakeLlm()->Generate({input}, {});
    EXPECT_TRUE(results[0].error.ok()) << results[0].error.message();
    for (const auto& answer : results[0].outputs) {
      if (answer.finish_reason == FinishReason::kStop) texts.push_back(answer.text);
    }
    return texts;
  };
  const auto is_number = [](const std::string& text) {
    return text.size() == 4 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  for (const std::string& text : run("the prompt ends it ) ", false)) {
    EXPECT_TRUE(is_number(text)) << text;
  }
  for (const auto& texts : {run("the prompt opens it (", false), run("prompt", true)}) {
    for (const std::string& text : texts) {
      const std::size_t end = text.find(')');
      ASSERT_NE(end, std::string::npos) << text;
      EXPECT_TRUE(is_number(text.substr(end + 1))) << text;
    }
  }
  for (const std::string& text : run("prompt", false)) {
    EXPECT_TRUE(is_number(text) || text.starts_with("(")) << text;
  }
}

// What every kind of request gets, and the masks that led there.
std::vector<RequestOutput> AnswersOf(std::unique_ptr<Executor> executor, int num_blocks = 200) {
  std::vector<PromptInput> prompts(40, Person());  // enough masks for several threads
  prompts[1].sampling.n = 3;
  prompts[2].sampling.min_tokens = 40;
  prompts[3].sampling.ignore_eos = true;
  prompts.push_back(Constrained(ConstraintKind::kRegex, "exactly this text, no other"));
  prompts.push_back(Constrained(ConstraintKind::kRegex, "(forced to its end){3}[0-9]?"));
  prompts.back().sampling.min_tokens = 90;
  prompts.push_back(Constrained(ConstraintKind::kRegex, "[ab]?forced to its end", 9));
  auto choice = *prompts[0].sampling.structured_outputs;
  choice.kind = ConstraintKind::kChoice;
  choice.choices = {"red", "green", "greenish"};
  for (const bool begins_unmarked : {true, false}) {
    choice.reasoning =
        ReasoningMarkers{.begin = "(", .end = ")", .begins_unmarked = begins_unmarked};
    prompts.push_back(Constrained(ConstraintKind::kChoice, ""));
    prompts.back().sampling.structured_outputs =
        std::make_shared<const StructuredOutputParams>(choice);
    prompts.back().sampling.n = 4;
  }
  prompts.push_back(prompts[0]);
  prompts.back().sampling.structured_outputs = nullptr;
  return MakeLlm(num_blocks, std::move(executor))->Generate(prompts, {});
}

void ExpectSame(const std::vector<RequestOutput>& a, const std::vector<RequestOutput>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i].error.ok()) << a[i].error.message();
    ASSERT_EQ(a[i].outputs.size(), b[i].outputs.size()) << i;
    for (std::size_t j = 0; j < a[i].outputs.size(); ++j) {
      EXPECT_EQ(a[i].outputs[j].token_ids, b[i].outputs[j].token_ids) << i;
      EXPECT_EQ(a[i].outputs[j].text, b[i].outputs[j].text) << i;
      EXPECT_EQ(a[i].outputs[j].finish_reason, b[i].outputs[j].finish_reason) << i;
    }
  }
}

TEST(StructuredOutput, MasksMadeDuringTheForwardAreThoseMadeBeforeIt) {
  MaskedExecutor::Masks before;
  MaskedExecutor::Masks during;
  const auto expected = AnswersOf(std::make_unique<MaskedExecutor>(false, &before));
  ExpectSame(AnswersOf(std::make_unique<MaskedExecutor>(true, &during)), expected);
  EXPECT_GT(before.size(), 1000U);
  EXPECT_EQ(during, before);
}

TEST(StructuredOutput, PreemptionAndWorkersOnOtherThreadsChangeNothing) {
  const auto expected = AnswersOf(std::make_unique<MaskedExecutor>());
  ExpectSame(AnswersOf(std::make_unique<MaskedExecutor>(true), 14), expected);
  const ExecutorFactory make = [] {
    return Result<std::unique_ptr<Executor>>(std::make_unique<MaskedExecutor>());
  };
  ExpectSame(AnswersOf(*CreateThreadExecutor(make)), expected);
  ExpectSame(AnswersOf(*CreateThreadExecutor(make), 14), expected);
}

TEST(StructuredOutput, ForcedTokensSpareStepsOfAnAsideExecutorToo) {
  const auto llm = MakeLlm(200, std::make_unique<MaskedExecutor>(true));
  ASSERT_TRUE(
      llm->Submit("a", Constrained(ConstraintKind::kRegex, "exactly this text, no other")).ok());
  std::vector<RequestOutput> outputs;
  int num_steps = 0;
  for (; llm->has_unfinished(); ++num_steps) ASSERT_TRUE(llm->Step(outputs).ok());
  EXPECT_LT(num_steps, 10);
}

// Obeys no mask.
class WilfulExecutor : public NullExecutor {
 public:
  explicit WilfulExecutor(bool is_aside)
      : NullExecutor(SmallFacts(kVocab, kMaxModelLen),
                     [](RequestId, std::int32_t idx) { return TokenId{idx < 3 ? '7' : 'x'}; }),
        is_aside_(is_aside) {}
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    return NullExecutor::Finish(
        plan, {.step_id = 0, .words = std::vector<std::uint32_t>(masks.words.size(), ~0U)}, out);
  }
  bool computes_aside() const override { return is_aside_; }

 private:
  const bool is_aside_;
};

TEST(StructuredOutput, ATokenThatItsMaskDoesNotAllowEndsTheRequest) {
  for (const bool is_aside : {false, true}) {
    const auto llm = MakeLlm(200, std::make_unique<WilfulExecutor>(is_aside));
    const auto results = llm->Generate({Constrained(ConstraintKind::kRegex, "[0-9]+")}, {});
    EXPECT_EQ(results[0].error.code(), Code::kInternal);
    EXPECT_NE(results[0].error.message().find("not allowed"), std::string::npos);
  }
}

// Notes when its masks are asked for.
class WatchedMatcher : public Matcher {
 public:
  explicit WatchedMatcher(std::string& events) : events_(events) {}
  void Fill(std::span<std::uint32_t> mask) override {
    events_ += "fill ";
    std::ranges::fill(mask, ~std::uint32_t{0});
  }
  bool Accept(TokenId /*token*/) override { return true; }
  bool AcceptBytes(std::string_view /*bytes*/) override { return true; }
  void Rollback(int /*num_steps*/) override {}
  bool is_complete() const override { return false; }
  bool is_terminated() const override { return false; }
  const Status& failure() const override { return ok_; }
  std::string JumpForward() override { return ""; }

 private:
  std::string& events_;
  const Status ok_;
};

class WatchedGrammar : public CompiledGrammar {
 public:
  explicit WatchedGrammar(std::string& events) : events_(events) {}
  std::unique_ptr<Matcher> NewMatcher() const override {
    return std::make_unique<WatchedMatcher>(events_);
  }
  std::size_t num_bytes() const override { return 0; }

 private:
  std::string& events_;
};

// Notes its halves.
class WatchedExecutor : public NullExecutor {
 public:
  WatchedExecutor(bool is_aside, std::string& events)
      : NullExecutor(SmallFacts(kVocab, kMaxModelLen),
                     [](RequestId, std::int32_t) { return TokenId{7}; }),
        is_aside_(is_aside),
        events_(events) {}
  Status Begin(const StepPlan& plan) override {
    events_ += "begin ";
    return NullExecutor::Begin(plan);
  }
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    events_ += "finish ";
    return NullExecutor::Finish(plan, masks, out);
  }
  bool computes_aside() const override { return is_aside_; }

 private:
  const bool is_aside_;
  std::string& events_;
};

std::string EventsOf(bool is_aside) {
  std::string events;
  auto executor = std::make_unique<WatchedExecutor>(is_aside, events);
  const KvCachePlan plan = {
      .num_blocks = 16, .block_size = 4, .max_model_len = 32, .max_rows = 16, .max_requests = 4};
  EXPECT_TRUE(executor->InitKvCache(plan).ok());
  auto core = *EngineCore::Create(ConfigOf(16), plan, std::move(executor), {kTestEos});
  EngineRequest request;
  request.id = RequestId(1);
  request.prompt = {1, 2, 3};
  request.max_tokens = 3;
  request.grammar = std::make_shared<WatchedGrammar>(events);
  EXPECT_TRUE(core->Add(std::move(request)).ok());
  while (core->has_unfinished()) EXPECT_TRUE(core->Step().ok());
  return events;
}

TEST(StructuredOutput, MasksAreMadeInTheForwardOfAnExecutorThatComputesAside) {
  EXPECT_EQ(EventsOf(true), "begin fill finish begin fill finish begin fill finish ");
  // Elsewhere before the plan, but for what foretells nothing: the first token and the last.
  EXPECT_EQ(EventsOf(false), "begin fill finish fill begin finish begin fill finish ");
}

TEST(StructuredOutput, WhatTheEngineAsksOfAllConstraintsHolds) {
  EngineConfig config = ConfigOf(200);
  config.structured.config =
      *ParseJson(R"({"disable_any_whitespace":true,"disable_additional_properties":true})");
  const auto llm = Llm::CreateOver(config, std::make_unique<MaskedExecutor>(), MakeTestTokenizer());
  ASSERT_TRUE(llm.ok()) << llm.status().message();
  PromptInput input =
      Constrained(ConstraintKind::kJson,
                  R"({"properties":{"a":{"const":1}},"required":["a"],"type":"object"})");
  const auto results = (*llm)->Generate({input}, {});
  EXPECT_EQ(results[0].outputs[0].text, R"({"a": 1})") << results[0].error.message();
}

TEST(StructuredOutput, WhatCannotBeEnforcedIsRefusedAndTheOthersGoOn) {
  const auto results =
      MakeLlm()->Generate({Constrained(ConstraintKind::kJson, R"({"unevaluatedItems":false})"),
                           Person(), Constrained(ConstraintKind::kRegex, "("),
                           Constrained(ConstraintKind::kGrammar, "root ::= x")},
                          {});
  EXPECT_EQ(results[0].error.code(), Code::kInvalidArgument);
  EXPECT_NE(results[0].error.message().find("unevaluatedItems"), std::string::npos);
  ExpectPerson(results[1].outputs[0]);
  EXPECT_EQ(results[2].error.code(), Code::kInvalidArgument);
  EXPECT_EQ(results[3].error.code(), Code::kInvalidArgument);
}

TEST(StructuredOutput, TheThreadedEngineAnswersTheSameWhileBadGrammarsArrive) {
  std::vector<PromptInput> prompts(8, Person());
  const auto expected = MakeLlm()->Generate(prompts, {});
  auto engine = AsyncEngine::CreateOver(
      ConfigOf(200), {},
      []() -> Result<std::unique_ptr<Executor>> {
        return std::unique_ptr<Executor>(std::make_unique<MaskedExecutor>());
      },
      MakeTestTokenizer());
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  std::mutex mutex;
  std::map<std::string, RequestOutput> heard;
  const auto sink = [&](RequestOutput output) {
    if (!output.is_finished) return;
    const std::lock_guard lock(mutex);
    heard[output.request_id] = std::move(output);
  };
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].sampling.output_kind = OutputKind::kFinalOnly;
    ASSERT_TRUE((*engine)->Submit("good-" + std::to_string(i), prompts[i], sink).ok());
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*engine)
                    ->Submit("bad-" + std::to_string(i),
                             Constrained(ConstraintKind::kRegex,
                                         "(a|b)*a(a|b){" + std::to_string(14 + i) + "}("),
                             sink)
                    .ok());
  }
  (*engine)->Drain();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(heard["good-" + std::to_string(i)].outputs[0].text, expected[i].outputs[0].text);
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(heard["bad-" + std::to_string(i)].error.ok());
}

}  // namespace
}  // namespace quire
