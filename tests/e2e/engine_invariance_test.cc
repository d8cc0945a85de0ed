// The law of batch invariance: what a request gets does not depend on what else runs, how its
// prompt is cut, what the prefix cache holds, preemption, block size or the number of threads.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
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

TEST_P(Invariance, HoldsForInt8ActivationsAndSmallerCaches) {
  const auto prompts = MixedPrompts(8, kTinyVocab, 60, 5);
  for (const KvCacheDtype dtype : {KvCacheDtype::kFloat32, KvCacheDtype::kFloat16,
                                   KvCacheDtype::kBFloat16, KvCacheDtype::kInt8PerTokenHead}) {
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

// One combination of the engine's sizes.
struct Sizes {
  int budget;
  int block_size;
  bool has_prefix_cache;
  std::optional<std::int64_t> num_slots;  // of the pool; what memory holds without it
  int threads;
};

std::vector<Sizes> EveryCombination(std::int64_t tiny_pool_slots) {
  std::vector<Sizes> all;
  for (const int budget : {16, 64, 2048}) {
    for (const int block_size : {8, 16, 32}) {
      for (const bool has_prefix_cache : {false, true}) {
        for (const int threads : {1, 2}) {
          all.push_back({budget, block_size, has_prefix_cache, std::nullopt, threads});
          all.push_back({budget, block_size, has_prefix_cache, tiny_pool_slots, threads});
        }
      }
    }
  }
  return all;
}

// Runs the prompts under each of the sizes, with a prefix cache a second time over what it holds.
void ExpectSameUnder(const std::vector<Sizes>& combinations, EngineConfig config,
                     const std::vector<PromptInput>& prompts) {
  const auto alone = RunAlone(config, prompts);
  std::uint64_t seed = 20;
  std::int64_t num_preemptions = 0;
  for (const Sizes& sizes : combinations) {
    config.scheduler.max_num_batched_tokens = sizes.budget;
    config.scheduler.max_num_seqs = std::min(sizes.budget, 64);
    config.cache.block_size = sizes.block_size;
    config.cache.enable_prefix_caching = sizes.has_prefix_cache;
    config.cache.num_gpu_blocks_override = std::nullopt;
    if (sizes.num_slots) config.cache.num_gpu_blocks_override = *sizes.num_slots / sizes.block_size;
    config.parallel.threads = sizes.threads;
    const auto llm = OpenLlm(config);
    const std::string how = StrCat("budget ", sizes.budget, ", block size ", sizes.block_size,
                                   ", prefix cache ", sizes.has_prefix_cache, ", slots ",
                                   sizes.num_slots.value_or(0), ", threads ", sizes.threads);
    ExpectSame(alone, RunTogether(*llm, prompts, ++seed), how);
    num_preemptions += llm->stats().num_preemptions;
    if (!sizes.has_prefix_cache) continue;
    ExpectSame(alone, RunTogether(*llm, prompts, ++seed), how + ", warm");
    EXPECT_GT(llm->stats().prefix_hits, 0) << how;
  }
  EXPECT_GT(num_preemptions, 0);
}

TEST(Int8Cache, KeepsAnswersThroughPreemptionPrefixHitsAndEverySize) {
  for (const int window : {0, 24}) {
    EngineConfig config = InvarianceConfig(TinyModel(window));
    config.model.max_model_len = "256";
    config.cache.kv_cache_dtype = KvCacheDtype::kInt8PerTokenHead;
    ExpectSameUnder({{16, 8, true, 320, 1}, {64, 16, true, 320, 2}, {2048, 32, true, 320, 2}},
                    config, MixedPrompts(16, kTinyVocab, 200, 13));
  }
}

void RunTinyModelInFull(int window) {
  EngineConfig config = InvarianceConfig(TinyModel(window));
  config.model.max_model_len = "256";
  ExpectSameUnder(EveryCombination(640), config, MixedPrompts(64, kTinyVocab, 200, 11));
}

TEST(SlowInvariance, HoldsInFullForATinyModel) { RunTinyModelInFull(0); }

TEST(SlowInvariance, HoldsInFullForATinyModelWithWindows) { RunTinyModelInFull(24); }

std::string ValueOf(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string() : std::string(value);
}

// The model that people run, as they run it: int8 activations and the cache's own type.
class SlowDefaultModel : public testing::Test {
 protected:
  void SetUp() override {
    const Result<std::string> model =
        LocateModel("", {.home = ValueOf("HOME"), .quire_cache = ValueOf("QUIRE_CACHE")});
    if (!model.ok()) GTEST_SKIP() << model.status().message();
    config_ = InvarianceConfig(*model);
    config_.model.max_model_len = "512";
  }

  EngineConfig config_;
};

TEST_F(SlowDefaultModel, KeepsItsAnswersInFloat32) {
  config_.model.compute_dtype = ComputeDtype::kFloat32;
  ExpectSameUnder({{16, 8, false, 640, 1}, {64, 16, true, 640, 2}, {2048, 32, true, 640, 1}},
                  config_, MixedPrompts(64, 49152, 160, 12));
}

TEST_F(SlowDefaultModel, KeepsItsAnswersForEverySizeOfTheEngine) {
  ExpectSameUnder(EveryCombination(640), config_, MixedPrompts(64, 49152, 160, 12));
}

}  // namespace
}  // namespace quire
