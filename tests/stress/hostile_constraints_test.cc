// Constraints meant to take for ever or fill memory, while ordinary requests stream: each hostile
// one ends, and the ordinary ones get the answers that they get in quiet.
#include "tests/stress/hostile_constraints.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "base/rng.h"
#include "base/test_data.h"
#include "engine/async_engine.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

constexpr int kVocab = 49'152;
constexpr int kContext = 512;
constexpr int kNumOrdinary = 16;

// Draws each token by the request's seed, place and mask alone, as a model does by its logits.
class MaskedExecutor : public Executor {
 public:
  MaskedExecutor()
      : inner_(NullExecutor::SmallFacts(kVocab, kContext),
               [this](RequestId id, std::int32_t idx) { return Draw(id, idx); }) {}

  const ModelFacts& facts() const override { return inner_.facts(); }
  Status InitKvCache(const KvCachePlan& plan) override { return inner_.InitKvCache(plan); }
  Status Begin(const StepPlan& plan) override { return inner_.Begin(plan); }
  Status Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) override {
    masks_ = &masks;
    places_.clear();
    for (const NewRequestData& request : plan.new_requests) seeds_[request.id] = request.seed;
    for (const ScheduledRow& row : plan.rows) places_[row.id] = row.grammar_row;
    const Status status = inner_.Finish(plan, masks, out);
    for (RowResult& row : out.rows) {
      if (empty_.erase(row.id) > 0) row.error = Internal("no token is allowed");
    }
    return status;
  }

 private:
  TokenId Draw(RequestId id, std::int32_t idx) {
    const std::uint64_t seed = seeds_[id];
    const auto words =
        Philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                static_cast<std::uint32_t>(idx), 0},
               {7, 7});
    std::int32_t& place = places_[id];  // goes on with each draft
    if (place < 0) return static_cast<TokenId>(words[0] % kVocab);
    const std::uint32_t* mask =
        masks_->words.data() + static_cast<std::size_t>(place++) * (kVocab / 32);
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token < kVocab; ++token) {
      if ((mask[token / 32] >> (token % 32) & 1) != 0) allowed.push_back(token);
    }
    if (!allowed.empty()) return allowed[words[0] % allowed.size()];
    empty_.insert(id);
    return 0;
  }

  const StepMasks* masks_ = nullptr;
  std::unordered_map<RequestId, std::uint64_t> seeds_;
  std::unordered_map<RequestId, std::int32_t> places_;
  std::set<RequestId> empty_;
  NullExecutor inner_;
};

std::unique_ptr<AsyncEngine> MakeEngine(double compile_timeout) {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = 4000;
  config.scheduler.max_num_seqs = 64;
  config.structured.grammar_compile_timeout = compile_timeout;
  auto tokenizer = Tokenizer::FromHfFolder(TestDataPath("tokenizers/real/smollm2"));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  auto engine = AsyncEngine::CreateOver(
      config, {.max_queued = 4096},
      []() -> Result<std::unique_ptr<Executor>> {
        return std::unique_ptr<Executor>(std::make_unique<MaskedExecutor>());
      },
      *tokenizer);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

// Every second one is constrained.
PromptInput Ordinary(int number) {
  PromptInput input;
  input.text = "Tell me about number " + std::to_string(number);
  input.sampling.seed = number;
  input.sampling.max_tokens = 200;
  input.sampling.output_kind = OutputKind::kDelta;
  if (number % 2 == 0) return input;
  StructuredOutputParams params;
  params.text =
      R"({"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":)"
      R"({"enum":["red","green","blue"]}},"n":{"type":"integer"}},"required":["name","tags"]})";
  input.sampling.structured_outputs =
      std::make_shared<const StructuredOutputParams>(std::move(params));
  return input;
}

PromptInput Hostile(int number) {
  PromptInput input;
  input.text = "x";
  input.sampling.seed = number;
  input.sampling.max_tokens = 8;
  input.sampling.output_kind = OutputKind::kFinalOnly;
  input.sampling.structured_outputs =
      std::make_shared<const StructuredOutputParams>(HostileConstraint(number));
  return input;
}

// Streams of ordinary requests, gathered.
class Answers {
 public:
  // Waits for one answer of each.
  std::vector<std::vector<TokenId>> Round(AsyncEngine& engine, int round) {
    for (int i = 0; i < kNumOrdinary; ++i) {
      const std::string id = "ordinary-" + std::to_string(round) + "-" + std::to_string(i);
      const Status status = engine.Submit(id, Ordinary(i), [this, i](RequestOutput output) {
        Hear(static_cast<std::size_t>(i), output);
      });
      EXPECT_TRUE(status.ok()) << status.message();
    }
    MutexLock lock(mutex_);
    while (num_done_ < kNumOrdinary) done_.wait(mutex_);
    num_done_ = 0;
    return std::exchange(tokens_, std::vector<std::vector<TokenId>>(kNumOrdinary));
  }

 private:
  void Hear(std::size_t index, const RequestOutput& output) {
    MutexLock lock(mutex_);
    EXPECT_TRUE(output.error.ok()) << output.error.message();
    for (const CompletionOutput& answer : output.outputs) {
      tokens_[index].insert(tokens_[index].end(), answer.token_ids.begin(), answer.token_ids.end());
    }
    if (output.is_finished && ++num_done_ == kNumOrdinary) done_.notify_all();
  }

  Mutex mutex_;
  CondVar done_;
  std::vector<std::vector<TokenId>> tokens_ QUIRE_GUARDED_BY(mutex_) =
      std::vector<std::vector<TokenId>>(kNumOrdinary);
  int num_done_ QUIRE_GUARDED_BY(mutex_) = 0;
};

struct Endings {
  std::atomic<int> num_answered = 0;
  std::atomic<int> num_refused = 0;  // kInvalidArgument: a 400
  std::atomic<int> num_stopped = 0;  // after they had begun
};

// Every `stride`th of them.
void RunHostile(int count, int stride, double compile_timeout) {
  if (TestDataPath("tokenizers/real/smollm2").empty()) {
    GTEST_SKIP() << "no reference data: tokenizers/real/smollm2";
  }
  const auto engine = MakeEngine(compile_timeout);
  Answers answers;
  const auto quiet = answers.Round(*engine, 0);
  Endings endings;
  std::atomic<int> num_left = count;
  for (int i = 0; i < count; ++i) {
    const Status status = engine->Submit(
        "hostile-" + std::to_string(i), Hostile(i * stride), [&](RequestOutput output) {
          if (!output.is_finished) return;
          if (output.error.ok()) {
            ++endings.num_answered;
          } else if (output.error.code() == Code::kInvalidArgument) {
            ++endings.num_refused;
          } else {
            EXPECT_EQ(output.error.code(), Code::kResourceExhausted)
                << output.request_id << ": " << output.error.message();
            ++endings.num_stopped;
          }
          --num_left;
        });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  int num_rounds = 0;
  do {
    EXPECT_EQ(answers.Round(*engine, ++num_rounds), quiet);
  } while (num_left > 0);
  engine->Drain();
  EXPECT_EQ(endings.num_answered + endings.num_refused + endings.num_stopped, count);
  EXPECT_GT(endings.num_refused, 0);
  EXPECT_TRUE(engine->is_healthy());
  GTEST_LOG_(INFO) << count << " hostile constraints: " << endings.num_answered << " answered, "
                   << endings.num_refused << " refused, " << endings.num_stopped
                   << " stopped; meanwhile " << num_rounds << " rounds of ordinary requests";
}

TEST(HostileConstraints, SomeEndAndOrdinaryRequestsNoticeNothing) { RunHostile(17, 3, 0.3); }

TEST(SlowHostileConstraints, AThousandEndAndOrdinaryRequestsNoticeNothing) {
  RunHostile(1000, 1, 0.5);
}

}  // namespace
}  // namespace quire
