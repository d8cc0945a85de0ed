#include "engine/async_engine.h"

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "base/strings.h"
#include "engine/testing.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

constexpr int kVocab = 300;

EngineConfig SmallConfig() {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = 512;
  config.scheduler.max_num_seqs = 16;
  config.scheduler.max_num_batched_tokens = 64;
  return config;
}

// Answers with a letter of the request's own, 30 times unless told otherwise.
TokenId Letter(RequestId id, std::int32_t /*output_idx*/) {
  return static_cast<TokenId>('a' + id.value() % 26);
}

// The same, so slowly that 4000 tokens outlast any test.
TokenId SlowLetter(RequestId id, std::int32_t output_idx) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return Letter(id, output_idx);
}

std::unique_ptr<AsyncEngine> MakeEngine(EngineConfig config = SmallConfig(),
                                        AsyncOptions options = {},
                                        NullExecutor::Script script = Letter) {
  auto engine = AsyncEngine::CreateOver(
      config, options,
      [script]() -> Result<std::unique_ptr<Executor>> {
        return std::unique_ptr<Executor>(
            new NullExecutor(NullExecutor::SmallFacts(kVocab, 4096), script));
      },
      MakeTestTokenizer());
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

PromptInput Text(std::string text, int max_tokens = 30) {
  PromptInput input;
  input.text = std::move(text);
  input.sampling.max_tokens = max_tokens;
  input.sampling.output_kind = OutputKind::kDelta;
  return input;
}

// Collects what the sinks of many prompts hear.
class Ears {
 public:
  OutputSink Sink() {
    return [this](RequestOutput output) {
      {
        MutexLock lock(mutex_);
        Heard& heard = heard_[output.request_id];
        for (const CompletionOutput& answer : output.outputs) {
          heard.pieces.push_back(answer.token_ids.size());
          heard.text += answer.text;
          heard.reason = answer.finish_reason;
        }
        if (output.is_finished) {
          ++heard.num_ends;
          ++num_ended_;
          heard.error = output.error;
          heard.times = output.times;
        }
        ++num_heard_;
      }
      changed_.notify_all();
    };
  }
  struct Heard {
    std::string text;
    std::vector<std::size_t> pieces;  // tokens of each output
    std::optional<FinishReason> reason;
    Status error;
    RequestTimes times;
    int num_ends = 0;
  };
  bool WaitForEnds(int count) { return WaitFor(num_ended_, count); }
  bool WaitForOutputs(int count) { return WaitFor(num_heard_, count); }
  Heard Of(const std::string& id) {
    MutexLock lock(mutex_);
    return heard_[id];
  }
  int num_ended() {
    MutexLock lock(mutex_);
    return num_ended_;
  }

 private:
  bool WaitFor(const int& value, int count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    MutexLock lock(mutex_);
    while (value < count) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return value >= count;
    }
    return true;
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Heard> heard_;
  int num_ended_ = 0;
  int num_heard_ = 0;
};

TEST(AsyncEngine, AnswersManyThreadsAtOnce) {
  Ears ears;
  const auto engine = MakeEngine();
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 25; ++i) {
        const Status status =
            engine->Submit(StrCat(caller, "-", i), Text("hello", 1 + i), ears.Sink());
        EXPECT_TRUE(status.ok()) << status.message();
      }
    });
  }
  callers.clear();
  ASSERT_TRUE(ears.WaitForEnds(100));
  for (int caller = 0; caller < 4; ++caller) {
    for (int i = 0; i < 25; ++i) {
      const auto heard = ears.Of(StrCat(caller, "-", i));
      EXPECT_EQ(heard.num_ends, 1);
      ASSERT_EQ(heard.text.size(), static_cast<std::size_t>(1 + i));
      EXPECT_EQ(heard.text, std::string(heard.text.size(), heard.text[0]));
    }
  }
  engine->Drain();  // the last sink has returned
  EXPECT_EQ(engine->num_live(), 0U);
  EXPECT_EQ(engine->stats().num_finished, 100);
  EXPECT_EQ(engine->stats().num_generated_tokens, 4 * 25 * 26 / 2);
}

TEST(AsyncEngine, StreamsSoManyTokensAtATimeAfterTheFirst) {
  EngineConfig config = SmallConfig();
  config.scheduler.stream_interval = 10;
  Ears ears;
  const auto engine = MakeEngine(config);
  ASSERT_TRUE(engine->Submit("r", Text("hello", 30), ears.Sink()).ok());
  PromptInput several = Text("hello", 25);
  several.sampling.n = 2;
  ASSERT_TRUE(engine->Submit("n", std::move(several), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(2));
  EXPECT_EQ(ears.Of("r").pieces, (std::vector<std::size_t>{1, 10, 10, 9}));
  EXPECT_EQ(ears.Of("r").text.size(), 30u);
  EXPECT_EQ(ears.Of("n").pieces, (std::vector<std::size_t>{1, 1, 10, 10, 10, 10, 4, 4}));
  EXPECT_EQ(ears.Of("n").text.size(), 50u);
}

TEST(AsyncEngine, StreamsFewerAndLargerPiecesWhereAPromptAsksForThem) {
  AsyncOptions options;
  std::atomic<int> num_outputs = 0;
  options.on_output = [&](const RequestOutput&) { ++num_outputs; };
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), options);
  PromptInput input = Text("hello", 21);
  input.stream_interval = 10;
  input.sampling.output_kind = OutputKind::kDelta;
  ASSERT_TRUE(engine->Submit("r", std::move(input), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  EXPECT_EQ(ears.Of("r").text.size(), 21U);
  EXPECT_EQ(num_outputs, 3);  // one token, ten, ten
}

TEST(AsyncEngine, TellsOfEachPromptOnceItIsRead) {
  Mutex mutex;
  std::map<std::string, std::size_t> told;  // by id, the tokens of the prompt
  AsyncOptions options;
  options.on_prompt = [&](const std::string& id, const EngineRequest& request) {
    MutexLock lock(mutex);
    told[id] += request.prompt.size();
  };
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), options);
  ASSERT_TRUE(engine->Submit("good", Text("hello", 1), ears.Sink()).ok());
  ASSERT_TRUE(engine->Submit("bad", Text("", 1), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(2));
  MutexLock lock(mutex);
  EXPECT_EQ(told, (std::map<std::string, std::size_t>{{"good", 5}}));
}

TEST(AsyncEngine, TellsWhenEachStageWasReached) {
  Ears ears;
  const auto engine = MakeEngine();
  ASSERT_TRUE(engine->Submit("r", Text("hello", 3), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  const RequestTimes times = ears.Of("r").times;
  ASSERT_TRUE(times.arrival && times.queued && times.scheduled && times.first_token &&
              times.last_token);
  EXPECT_LE(*times.arrival, *times.queued);
  EXPECT_LE(*times.queued, *times.scheduled);
  EXPECT_LE(*times.scheduled, *times.first_token);
  EXPECT_LE(*times.first_token, *times.last_token);
  EXPECT_EQ(times.num_preemptions, 0);
}

TEST(AsyncEngine, KeepsTheSpansOfAPromptThatItCutInChunks) {
  Ears ears;
  const auto engine = MakeEngine();
  ASSERT_TRUE(engine->Submit("r", Text(std::string(200, 'x'), 5), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  engine->Shutdown(std::chrono::milliseconds(0));
  const auto traces = engine->metrics().traces().Snapshot();
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].request_id, "r");
  EXPECT_EQ(traces[0].outcome, "length");
  std::string kinds;
  std::int64_t num_prompt_tokens = 0;
  for (const TraceSpan& span : traces[0].spans) {
    kinds += StrCat(ToString(span.kind), " ");
    EXPECT_LE(span.begin, span.end);
    if (span.kind == SpanKind::kPrefillChunk) num_prompt_tokens += span.num_tokens;
  }
  EXPECT_EQ(
      kinds,
      "tokenize queue prefill_chunk prefill_chunk prefill_chunk prefill_chunk decode stream ");
  EXPECT_EQ(num_prompt_tokens, 200);
}

// 4 % of the context, as soon as several prompts may be in the middle of their prefill.
TEST(AsyncEngine, CutsLongPromptsWhereSeveralMayBeInTheirPrefill) {
  Ears ears;
  EngineConfig config = SmallConfig();
  config.scheduler.max_num_batched_tokens = 512;
  config.scheduler.max_num_partial_prefills = 2;
  const auto engine = MakeEngine(config);
  ASSERT_TRUE(engine->Submit("r", Text(std::string(400, 'x'), 2), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  engine->Shutdown(std::chrono::milliseconds(0));
  std::vector<std::int64_t> chunks;
  const auto traces = engine->metrics().traces().Snapshot();
  for (const TraceSpan& span : traces.at(0).spans) {
    if (span.kind == SpanKind::kPrefillChunk) chunks.push_back(span.num_tokens);
  }
  EXPECT_EQ(chunks, (std::vector<std::int64_t>{4096 / 25, 4096 / 25, 400 - 2 * (4096 / 25)}));
}

TEST(AsyncEngine, CountsWhatItServed) {
  Ears ears;
  const auto engine = MakeEngine();
  PromptInput twice = Text("hello", 7);
  twice.sampling.n = 2;
  ASSERT_TRUE(engine->Submit("r", std::move(twice), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  engine->Shutdown(std::chrono::milliseconds(0));
  const std::string page = engine->metrics().Expose();
  const auto says = [&](const std::string& name, const char* value) {
    return page.find(StrCat(name, R"({engine="0",model_name="null"} )", value, "\n")) !=
           std::string::npos;
  };
  EXPECT_TRUE(says("vllm:generation_tokens_total", "14.0"));
  EXPECT_TRUE(says("vllm:prompt_tokens_total", "10.0"));
  EXPECT_TRUE(says("vllm:inter_token_latency_seconds_count", "12.0"));
  EXPECT_TRUE(says("vllm:time_to_first_token_seconds_count", "2.0"));
  EXPECT_TRUE(says("vllm:request_params_n_sum", "2.0"));
  EXPECT_TRUE(says("vllm:request_max_num_generation_tokens_sum", "7.0"));
  EXPECT_TRUE(says("vllm:num_requests_running", "0.0"));
}

TEST(AsyncEngine, EndsARefusedPromptWithItsError) {
  Ears ears;
  const auto engine = MakeEngine();
  ASSERT_TRUE(engine->Submit("long", Text(std::string(5000, 'x')), ears.Sink()).ok());
  PromptInput bad = Text("x");
  bad.sampling.n = -5;
  ASSERT_TRUE(engine->Submit("bad", bad, ears.Sink()).ok());
  ASSERT_TRUE(engine->Submit("good", Text("x", 2), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(3));
  EXPECT_EQ(ears.Of("long").error.code(), Code::kInvalidArgument);
  EXPECT_EQ(ears.Of("bad").error.code(), Code::kInvalidArgument);
  EXPECT_TRUE(ears.Of("good").error.ok());
  EXPECT_EQ(engine->stats().num_failed, 2);
}

TEST(AsyncEngine, RefusesAnIdThatIsAlive) {
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), {}, SlowLetter);
  ASSERT_TRUE(engine->Submit("r", Text("x", 4000), ears.Sink()).ok());
  EXPECT_EQ(engine->Submit("r", Text("y"), ears.Sink()).code(), Code::kInvalidArgument);
  engine->Abort("r");
  ASSERT_TRUE(ears.WaitForEnds(1));
  EXPECT_TRUE(engine->Submit("r", Text("z", 2), ears.Sink()).ok());
  EXPECT_TRUE(ears.WaitForEnds(2));
}

TEST(AsyncEngine, EndsAbortedPromptsOnceInWhateverStateTheyAre) {
  Ears ears;
  EngineConfig config = SmallConfig();
  config.scheduler.max_num_seqs = 4;  // most of them wait
  const auto engine = MakeEngine(config, {}, SlowLetter);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(engine->Submit(StrCat(i), Text("hello", 4000), ears.Sink()).ok());
    if (i % 2 == 1) engine->Abort(StrCat(i));  // perhaps before the engine has seen it
  }
  ASSERT_TRUE(ears.WaitForEnds(20));
  for (int i = 0; i < 40; i += 2) engine->Abort(StrCat(i));
  engine->Abort("never was");
  ASSERT_TRUE(ears.WaitForEnds(40));
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(ears.Of(StrCat(i)).num_ends, 1);
    EXPECT_EQ(ears.Of(StrCat(i)).reason, FinishReason::kAbort);
  }
  EXPECT_EQ(engine->stats().num_aborted, 40);
  ASSERT_TRUE(engine->Submit("after", Text("x", 2), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(41));
  EXPECT_EQ(engine->stats().scheduler.num_running, 0);
  EXPECT_EQ(engine->stats().scheduler.num_used_blocks, 0);
}

// Keeps the thread that reads long texts until it is let go.
class LongText {
 public:
  PromptInput Input() {
    PromptInput input = Text("");
    input.prepare_bytes = std::size_t{1} << 20;
    input.prepare = [this](PromptInput& self) {
      ++num_begun_;
      gate_.wait();
      self.text = "long";
      return Status();
    };
    return input;
  }
  void LetGo() { open_.set_value(); }
  int num_begun() const { return num_begun_; }

 private:
  std::promise<void> open_;
  std::shared_future<void> gate_ = open_.get_future().share();
  std::atomic<int> num_begun_ = 0;
};

TEST(AsyncEngine, ReadsIdsAndShortTextsWhileALongTextIsRead) {
  LongText text;
  Ears ears;
  const auto engine = MakeEngine();
  ASSERT_TRUE(engine->Submit("long", text.Input(), ears.Sink()).ok());
  PromptInput ids = Text("", 2);
  ids.token_ids = {1, 2};
  ASSERT_TRUE(engine->Submit("ids", std::move(ids), ears.Sink()).ok());
  ASSERT_TRUE(engine->Submit("short", Text("hi", 2), ears.Sink()).ok());
  EXPECT_TRUE(ears.WaitForEnds(2));
  EXPECT_EQ(ears.Of("ids").text.size(), 2U);
  EXPECT_EQ(ears.Of("short").text.size(), 2U);
  text.LetGo();
  EXPECT_TRUE(ears.WaitForEnds(3));
}

TEST(AsyncEngine, DoesNotReadAPromptThatWasAbortedBeforeItsTurn) {
  LongText text;
  Ears ears;
  const auto engine = MakeEngine();
  ASSERT_TRUE(engine->Submit("first", text.Input(), ears.Sink()).ok());
  ASSERT_TRUE(engine->Submit("second", text.Input(), ears.Sink()).ok());
  engine->Abort("second");
  text.LetGo();
  EXPECT_TRUE(ears.WaitForEnds(2));
  EXPECT_EQ(text.num_begun(), 1);
  EXPECT_EQ(ears.Of("second").reason, FinishReason::kAbort);
  EXPECT_EQ(engine->stats().num_aborted, 1);
}

TEST(AsyncEngine, EndsThePromptsThatACallerNamedSo) {
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), {}, SlowLetter);
  for (const char* id :
       {"a", "a-0", "a-12", "a-0123456789abcdef", "a-0123456789abcdef-1", "ab", "a-b"}) {
    ASSERT_TRUE(engine->Submit(id, Text("hello", 4000), ears.Sink()).ok());
  }
  EXPECT_EQ(engine->AbortNamed("x", true), 0);
  EXPECT_EQ(engine->AbortNamed("a", false), 3);
  EXPECT_TRUE(ears.WaitForEnds(3));
  EXPECT_EQ(engine->AbortNamed("a", true), 2);
  EXPECT_TRUE(ears.WaitForEnds(5));
  EXPECT_EQ(ears.Of("ab").num_ends + ears.Of("a-b").num_ends, 0);
}

TEST(AsyncEngine, StopStringsEndTheAnswerAndFreeItsBlocks) {
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), {}, [](RequestId, std::int32_t idx) {
    return static_cast<TokenId>('a' + idx % 26);
  });
  PromptInput input = Text("x", 4000);
  input.sampling.stop = {"fg"};
  ASSERT_TRUE(engine->Submit("r", input, ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  EXPECT_EQ(ears.Of("r").text, "abcde");
  EXPECT_EQ(ears.Of("r").reason, FinishReason::kStop);
  EXPECT_EQ(engine->stats().num_finished, 1);
  EXPECT_EQ(engine->stats().num_aborted, 0);
}

TEST(AsyncEngine, ASinkMaySubmitAndAbort) {
  Ears ears;
  const auto engine = MakeEngine();
  const OutputSink chained = [&](RequestOutput output) {
    if (!output.is_finished) return;
    engine->Abort("nobody");
    EXPECT_TRUE(engine->Submit("first", Text("y", 2), ears.Sink()).ok());  // the id is free again
  };
  ASSERT_TRUE(engine->Submit("first", Text("x", 2), chained).ok());
  EXPECT_TRUE(ears.WaitForEnds(1));
}

TEST(AsyncEngine, ShutsDownWhilePromptsAreInEveryState) {
  for (const int num_heard : {0, 1, 10}) {
    Ears ears;
    EngineConfig config = SmallConfig();
    config.scheduler.max_num_seqs = 2;
    auto engine = MakeEngine(config, {}, SlowLetter);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(engine->Submit(StrCat(i), Text("hello", 4000), ears.Sink()).ok());
    }
    ASSERT_TRUE(ears.WaitForOutputs(num_heard));
    engine->Shutdown(std::chrono::milliseconds(0));
    EXPECT_EQ(ears.num_ended(), 50);
    EXPECT_EQ(ears.Of("49").error.code(), Code::kUnavailable);
    EXPECT_EQ(engine->Submit("late", Text("x"), ears.Sink()).code(), Code::kUnavailable);
  }
}

TEST(AsyncEngine, LetsRunningPromptsFinishWithinTheGrace) {
  Ears ears;
  auto engine = MakeEngine();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(engine->Submit(StrCat(i), Text("hello", 20), ears.Sink()).ok());
  }
  engine->Shutdown(std::chrono::seconds(60));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ears.Of(StrCat(i)).text.size(), 20U);
    EXPECT_TRUE(ears.Of(StrCat(i)).error.ok());
  }
}

TEST(AsyncEngine, EndsWithoutEverHavingServed) { MakeEngine(); }

TEST(AsyncEngine, RefusesWhenItsQueueIsFull) {
  Ears ears;
  AsyncOptions options;
  options.max_queued = 1;
  const auto engine = MakeEngine(SmallConfig(), options);
  int num_accepted = 0;
  bool was_refused = false;
  for (int i = 0; i < 10000 && !was_refused; ++i) {
    const Status status = engine->Submit(StrCat(i), Text("hello", 1), ears.Sink());
    if (status.ok()) ++num_accepted;
    was_refused = status.code() == Code::kResourceExhausted;
  }
  EXPECT_TRUE(was_refused);
  EXPECT_TRUE(ears.WaitForEnds(num_accepted));
}

// Waits for the outcome of a call.
class Outcome {
 public:
  AsyncEngine::CallOutcome Sink() {
    return [this](Status status) { promise_.set_value(std::move(status)); };
  }
  Status Wait() { return promise_.get_future().get(); }

 private:
  std::promise<Status> promise_;
};

Status PauseAndWait(AsyncEngine& engine, PauseMode mode) {
  Outcome outcome;
  engine.Pause(mode, outcome.Sink());
  return outcome.Wait();
}

// Fails every step after the fourth from one on that holds `requests_needed`, until it has been
// reset `resets_needed` times.
class BreakingExecutor : public NullExecutor {
 public:
  BreakingExecutor(int resets_needed, std::size_t requests_needed)
      : NullExecutor(SmallFacts(kVocab, 4096), Letter),
        resets_needed_(resets_needed),
        requests_needed_(requests_needed) {}
  Status Begin(const StepPlan& plan) override {
    has_met_all_ = has_met_all_ || plan.rows.size() >= requests_needed_;
    // So that those who have come do not end before the others come.
    if (!has_met_all_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (++num_steps_ < 5 || !has_met_all_ || num_resets_ >= resets_needed_) {
      return NullExecutor::Begin(plan);
    }
    if (num_resets_ == 1) throw std::runtime_error("the device threw");
    return Internal("the device is gone");
  }
  Status Reset() override {
    ++num_resets_;
    return NullExecutor::Reset();
  }

 private:
  const int resets_needed_;
  const std::size_t requests_needed_;
  bool has_met_all_ = false;
  int num_steps_ = 0;
  int num_resets_ = 0;
};

constexpr int kNever = 1 << 30;

std::unique_ptr<AsyncEngine> MakeBreakingEngine(int resets_needed, std::size_t requests_needed) {
  auto engine = AsyncEngine::CreateOver(
      SmallConfig(), {.max_restarts = 3},
      [=]() -> Result<std::unique_ptr<Executor>> {
        return std::unique_ptr<Executor>(new BreakingExecutor(resets_needed, requests_needed));
      },
      MakeTestTokenizer());
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

TEST(AsyncEngine, EndsEveryPromptAndStartsAgainWhenAStepFails) {
  Ears ears;
  const auto engine = MakeBreakingEngine(1, 3);
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(engine->Submit(id, Text("hello", 4000), ears.Sink()).ok());
  }
  ASSERT_TRUE(ears.WaitForEnds(3));
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_EQ(ears.Of(id).error.message(), "the device is gone");
    EXPECT_EQ(ears.Of(id).num_ends, 1);
    EXPECT_EQ(ears.Of(id).reason, FinishReason::kError);
  }
  ASSERT_TRUE(engine->Submit("late", Text("hello", 3), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForEnds(4));
  EXPECT_TRUE(ears.Of("late").error.ok());
  EXPECT_EQ(ears.Of("late").text, "ddd");
  EXPECT_TRUE(engine->is_healthy());
  EXPECT_EQ(engine->stats().num_restarts, 1);
  EXPECT_EQ(engine->stats().scheduler.num_used_blocks, 0);
  const std::string page = engine->metrics().Expose();
  EXPECT_NE(page.find("quire:engine_restarts_total{engine=\"0\",model_name=\"null\"} 1.0"),
            std::string::npos);
}

TEST(AsyncEngine, GivesUpAfterSoManyRestartsInARow) {
  Ears ears;
  const auto engine = MakeBreakingEngine(kNever, 1);
  Status refused;
  int num_submitted = 0;
  while (refused.ok() && num_submitted < 10) {
    refused = engine->Submit(StrCat(num_submitted), Text("x", 4000), ears.Sink());
    if (!refused.ok()) break;
    ++num_submitted;
    ASSERT_TRUE(ears.WaitForEnds(num_submitted));
    engine->Drain();
  }
  EXPECT_EQ(num_submitted, 4);
  EXPECT_EQ(ears.Of("1").error.message(), "a step failed: the device threw");
  EXPECT_EQ(ears.Of("3").error.message(), "the device is gone");
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_NE(refused.message().find("the device is gone"), std::string::npos);
  EXPECT_FALSE(engine->is_healthy());
  EXPECT_EQ(PauseAndWait(*engine, PauseMode::kKeep).code(), Code::kUnavailable);
}

TEST(AsyncEngine, SaysWhyItCannotStart) {
  const auto engine = AsyncEngine::CreateOver(
      SmallConfig(), {},
      []() -> Result<std::unique_ptr<Executor>> { return NotFound("no such model"); }, nullptr);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().message(), "no such model");
}

TEST(AsyncEngine, GivesNothingBetweenPauseAndResume) {
  for (const PauseMode mode : {PauseMode::kKeep, PauseMode::kPreempt}) {
    Ears ears;
    const auto engine = MakeEngine(SmallConfig(), {}, SlowLetter);
    ASSERT_TRUE(engine->Submit("early", Text("hello", 1000), ears.Sink()).ok());
    ASSERT_TRUE(ears.WaitForOutputs(3));
    ASSERT_TRUE(PauseAndWait(*engine, mode).ok());
    EXPECT_TRUE(engine->is_paused());
    const std::size_t before = ears.Of("early").text.size();
    ASSERT_TRUE(engine->Submit("late", Text("hello", 2), ears.Sink()).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(ears.Of("early").text.size(), before);
    EXPECT_EQ(ears.num_ended(), 0);
    Outcome resumed;
    engine->Resume(resumed.Sink());
    EXPECT_TRUE(resumed.Wait().ok());
    ASSERT_TRUE(ears.WaitForEnds(2));
    EXPECT_EQ(ears.Of("early").text, std::string(1000, 'a'));
    EXPECT_FALSE(engine->is_paused());
  }
}

TEST(AsyncEngine, CountsRefusedPromptsByTheBoundThatTheyMet) {
  EngineConfig config = SmallConfig();
  config.scheduler.max_waiting = 2;
  config.scheduler.max_waiting_tokens = 8;
  Ears ears;
  const auto engine = MakeEngine(config);
  ASSERT_TRUE(PauseAndWait(*engine, PauseMode::kKeep).ok());
  // One input thread reads them in this order.
  for (const char* text : {"hello", "world", "ab", "c", "d"}) {
    ASSERT_TRUE(engine->Submit(text, Text(text, 1), ears.Sink()).ok());
  }
  ASSERT_TRUE(ears.WaitForEnds(3));
  for (const char* text : {"world", "c", "d"}) {
    EXPECT_EQ(ears.Of(text).error.code(), Code::kResourceExhausted) << text;
  }
  const std::string page = engine->metrics().Expose();
  for (const char* count : {"reqs\"} 2.0\n", "tokens\"} 1.0\n"}) {
    EXPECT_NE(page.find(StrCat("reason=\"max_num_queued_", count)), page.npos) << page;
  }
}

TEST(AsyncEngine, ObeysAbortsWhilePaused) {
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), {}, SlowLetter);
  ASSERT_TRUE(engine->Submit("running", Text("hello", 4000), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForOutputs(2));
  ASSERT_TRUE(PauseAndWait(*engine, PauseMode::kKeep).ok());
  engine->Abort("running");
  ASSERT_TRUE(ears.WaitForEnds(1));
  EXPECT_EQ(ears.Of("running").reason, FinishReason::kAbort);
  EXPECT_EQ(engine->stats().scheduler.num_used_blocks, 0);
}

TEST(AsyncEngine, ResetsThePrefixCacheOnlyWhenNoBlockIsInUseOrRunningRequestsMayBePreempted) {
  Ears ears;
  const auto engine = MakeEngine(SmallConfig(), {}, SlowLetter);
  ASSERT_TRUE(engine->Submit("running", Text("hello", 1000), ears.Sink()).ok());
  ASSERT_TRUE(ears.WaitForOutputs(2));
  Outcome refused;
  engine->ResetPrefixCache(false, refused.Sink());
  EXPECT_EQ(refused.Wait().code(), Code::kFailedPrecondition);
  Outcome done;
  engine->ResetPrefixCache(true, done.Sink());
  EXPECT_TRUE(done.Wait().ok());
  ASSERT_TRUE(ears.WaitForEnds(1));
  EXPECT_EQ(ears.Of("running").text, std::string(1000, 'a'));
  EXPECT_EQ(ears.Of("running").times.num_preemptions, 1);
}

TEST(AsyncEngine, RefusesCallsOnceItHasStopped) {
  const auto engine = MakeEngine();
  engine->Shutdown(std::chrono::milliseconds(0));
  EXPECT_EQ(PauseAndWait(*engine, PauseMode::kKeep).code(), Code::kUnavailable);
}

TEST(AsyncEngine, TwoEnginesRunInOneProcess) {
  Ears ears;
  const auto first = MakeEngine();
  const auto second = MakeEngine();
  ASSERT_TRUE(first->Submit("a", Text("x", 10), ears.Sink()).ok());
  ASSERT_TRUE(second->Submit("b", Text("x", 10), ears.Sink()).ok());
  EXPECT_TRUE(ears.WaitForEnds(2));
}

}  // namespace
}  // namespace quire
