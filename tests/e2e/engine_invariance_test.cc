// The law of batch invariance: what a request gets does not depend on what else runs, how its
// prompt is cut, what the prefix cache holds, preemption, block size or the number of threads.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "exec/thread_executor.h"
#include "invariance.h"
#include "model/locate.h"
#include "tiny_model.h"

namespace quire {
namespace {

std::string TinyModel(int window = 0) {
  const std::string folder = testing::TempDir() + StrCat("quire_tiny_", window);
  const Status status = WriteTinyModel(folder, window);
  EXPECT_TRUE(status.ok()) << status.message();
  return folder;
}

void ExpectSame(const std::vector<Answer>& expected, const std::vector<Answer>& answers,
                const std::string& how) {
  ASSERT_EQ(expected.size(), answers.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].error, "");
    EXPECT_EQ(expected[i], answers[i]) << "prompt " << i << " " << how;
  }
}

class Invariance : public testing::TestWithParam<int> {
 protected:
  std::string model_ = TinyModel(GetParam());
};

TEST_P(Invariance, HoldsForEveryCutOfThePrompt) {
  const auto prompts = MixedPrompts(8, kTinyVocab, 110, 3);
  EngineConfig config = InvarianceConfig(model_);
  const auto alone = RunAlone(config, prompts);
  for (const int budget : {1, 7, 16, 100}) {
    config.scheduler.max_num_batched_tokens = budget;
    config.scheduler.max_num_seqs = std::min(budget, 8);
    ExpectSame(alone, RunAlone(config, prompts), StrCat("alone, budget ", budget));
    ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 0), StrCat("budget ", budget));
  }
}

TEST_P(Invariance, HoldsForEveryNumberOfThreads) {
  const auto prompts = MixedPrompts(8, kTinyVocab, 60, 4);
  EngineConfig config = InvarianceConfig(model_);
  config.parallel.threads = 1;
  const auto alone = RunAlone(config, prompts);
  for (const int threads : {1, 2, 3}) {
    config.parallel.threads = threads;
    ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 1), StrCat(threads, " threads"));
  }
}

TEST_P(Invariance, HoldsForInt8ActivationsAndHalfPrecisionCaches) {
  const auto prompts = MixedPrompts(8, kTinyVocab, 60, 5);
  for (const KvCacheDtype dtype :
       {KvCacheDtype::kFloat32, KvCacheDtype::kFloat16, KvCacheDtype::kBFloat16}) {
    EngineConfig config = InvarianceConfig(model_);
    config.cache.kv_cache_dtype = dtype;
    const auto alone = RunAlone(config, prompts);
    config.scheduler.max_num_batched_tokens = 16;
    config.scheduler.max_num_seqs = 8;
    ExpectSame(alone, RunTogether(*OpenLlm(config), prompts, 2), "budget 16");
  }
}

// A pool for little more than one request: most are preempted.
TEST_P(Invariance, HoldsThroughPreemption) {
  const auto prompts = MixedPrompts(12, kTinyVocab, 100, 6);
  EngineConfig config = InvarianceConfig(model_);
  const auto alone = RunAlone(config, prompts);
  config.model.max_model_len = "160";
  config.cache.num_gpu_blocks_override = 12;
  const auto llm = OpenLlm(config);
  ExpectSame(alone, RunTogether(*llm, prompts, 3), "a tiny pool");
  EXPECT_GT(llm->stats().num_preemptions, 0);
}

TEST_P(Invariance, HoldsWithAPrefixCacheColdAndWarm) {
  const auto prompts = MixedPrompts(12, kTinyVocab, 100, 7);
  EngineConfig config = InvarianceConfig(model_);
  const auto alone = RunAlone(config, prompts);
  config.cache.enable_prefix_caching = true;
  const auto llm = OpenLlm(config);
  ExpectSame(alone, RunTogether(*llm, prompts, 4), "cold");
  ExpectSame(alone, RunTogether(*llm, prompts, 5), "warm");
  EXPECT_GT(llm->stats().prefix_hits, 0);
}

// The same model behind a worker that sees bytes only.
TEST_P(Invariance, HoldsForAWorkerOnAnotherThread) {
  const auto prompts = MixedPrompts(8, kTinyVocab, 60, 8);
  const EngineConfig config = InvarianceConfig(model_);
  const auto alone = RunAlone(config, prompts);
  auto executor = CreateThreadExecutor([&] { return CreateInlineExecutor(config, {}); });
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  const auto llm = Llm::CreateOver(config, *std::move(executor), nullptr);
  ASSERT_TRUE(llm.ok()) << llm.status().message();
  ExpectSame(alone, RunTogether(**llm, prompts, 6), "over bytes");
}

INSTANTIATE_TEST_SUITE_P(FullAndWindow, Invariance, testing::Values(0, 24));

// Every combination of the engine's sizes over 64 requests.
void RunInFull(const std::string& model, int vocab_size, int max_prompt,
               const std::string& max_model_len, int tiny_pool) {
  const auto prompts = MixedPrompts(64, vocab_size, max_prompt, 11);
  EngineConfig config = InvarianceConfig(model);
  config.model.max_model_len = max_model_len;
  const auto alone = RunAlone(config, prompts);
  std::uint64_t seed = 20;
  for (const int budget : {16, 64, 2048}) {
    for (const int block_size : {8, 16, 32}) {
      for (const bool has_prefix_cache : {false, true}) {
        for (const bool is_tiny : {false, true}) {
          for (const int threads : {1, 2}) {
            config.scheduler.max_num_batched_tokens = budget;
            config.scheduler.max_num_seqs = std::min(budget, 64);
            config.cache.block_size = block_size;
            config.cache.enable_prefix_caching = has_prefix_cache;
            config.cache.num_gpu_blocks_override =
                is_tiny ? std::optional<std::int64_t>(tiny_pool * 16 / block_size) : std::nullopt;
            config.parallel.threads = threads;
            const auto llm = OpenLlm(config);
            const std::string how =
                StrCat("budget ", budget, ", block size ", block_size, ", prefix cache ",
                       has_prefix_cache, ", tiny pool ", is_tiny, ", threads ", threads);
            ExpectSame(alone, RunTogether(*llm, prompts, ++seed), how);
            if (has_prefix_cache) {
              ExpectSame(alone, RunTogether(*llm, prompts, ++seed), how + ", warm");
            }
          }
        }
      }
    }
  }
}

TEST(SlowInvariance, HoldsInFullForATinyModel) {
  RunInFull(TinyModel(), kTinyVocab, 200, "256", 40);
}

TEST(SlowInvariance, HoldsInFullForATinyModelWithWindows) {
  RunInFull(TinyModel(24), kTinyVocab, 200, "256", 40);
}

std::string ValueOf(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string() : std::string(value);
}

// A chosen part of the matrix: each budget with another block size and prefix cache, in a pool so
// small that many are preempted. One thread, since the threads of a busy machine wait for each
// other; they have a test of their own.
class SlowDefaultModel : public testing::Test {
 protected:
  void SetUp() override {
    const Result<std::string> model =
        LocateModel("", {.home = ValueOf("HOME"), .quire_cache = ValueOf("QUIRE_CACHE")});
    if (!model.ok()) GTEST_SKIP() << model.status().message();
    config_ = InvarianceConfig(*model);
    config_.model.max_model_len = "512";
    config_.parallel.threads = 1;
  }

  EngineConfig config_;
};

TEST_F(SlowDefaultModel, KeepsItsAnswersForEverySizeOfTheEngine) {
  struct Sizes {
    int budget;
    int block_size;
    bool has_prefix_cache;
  };
  const auto prompts = MixedPrompts(64, 49152, 160, 12);
  const auto alone = RunAlone(config_, prompts);
  std::uint64_t seed = 30;
  for (const Sizes& sizes : {Sizes{16, 8, false}, Sizes{64, 16, true}, Sizes{2048, 32, true}}) {
    config_.scheduler.max_num_batched_tokens = sizes.budget;
    config_.scheduler.max_num_seqs = std::min(sizes.budget, 64);
    config_.cache.block_size = sizes.block_size;
    config_.cache.enable_prefix_caching = sizes.has_prefix_cache;
    config_.cache.num_gpu_blocks_override = 640 / sizes.block_size;
    const auto llm = OpenLlm(config_);
    const std::string how = StrCat("budget ", sizes.budget, ", block size ", sizes.block_size);
    ExpectSame(alone, RunTogether(*llm, prompts, ++seed), how);
    EXPECT_TRUE(sizes.budget == 16 || llm->stats().num_preemptions > 0) << how;
    if (!sizes.has_prefix_cache) continue;
    ExpectSame(alone, RunTogether(*llm, prompts, ++seed), how + ", warm");
    EXPECT_GT(llm->stats().prefix_hits, 0);
  }
}

TEST_F(SlowDefaultModel, KeepsItsAnswersForTwoThreads) {
  const auto prompts = MixedPrompts(8, 49152, 60, 13);
  const auto alone = RunAlone(config_, prompts);
  config_.parallel.threads = 2;
  ExpectSame(alone, RunTogether(*OpenLlm(config_), prompts, 40), "2 threads");
}

}  // namespace
}  // namespace quire
