#include "engine/sizing.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// 1 KiB a token, 16 KiB a block.
ModelFacts Facts() {
  ModelFacts facts;
  facts.vocab_size = 1024;
  facts.max_positions = 4096;
  facts.kv_spec = {.groups = {{.kind = AttentionKind::kFull, .window = 0, .layers = {0, 1}}},
                   .num_kv_heads = 2,
                   .key_head_dim = 64,
                   .value_head_dim = 64};
  facts.kv_element = {.value_bytes = 2};
  facts.kv_dtype = "float16";
  facts.weight_bytes = 100 * kMiB;
  return facts;
}

EngineConfig Config() {
  EngineConfig config;
  config.scheduler.max_num_seqs = 8;
  return config;
}

MachineMemory Free(std::uint64_t bytes) { return {.free_bytes = bytes, .source = "a test"}; }

std::string Refusal(const EngineConfig& config, std::uint64_t free_bytes) {
  const auto decisions = SizeEngine(config, Facts(), Free(free_bytes));
  return decisions.ok() ? "accepted" : decisions.status().message();
}

TEST(Sizing, TakesNoMoreBlocksThanItsRequestsCanUse) {
  const auto decisions = SizeEngine(Config(), Facts(), Free(64 * 1024 * kMiB));
  ASSERT_TRUE(decisions.ok());
  EXPECT_EQ(decisions->plan.max_model_len, 4096);
  EXPECT_EQ(decisions->plan.num_blocks, 8 * 256 + 1);
}

// 128 values and two scales a head instead of 128 values of two bytes.
TEST(Sizing, CountsTheScalesOfInt8Caches) {
  EngineConfig config = Config();
  config.cache.kv_cache_memory_bytes = 136 * 16 * 2 * 2 * 10;
  ModelFacts facts = Facts();
  facts.kv_element = {.value_bytes = 1, .scale_bytes = 4};
  config.model.max_model_len = "128";
  const auto decisions = SizeEngine(config, facts, Free(64 * 1024 * kMiB));
  ASSERT_TRUE(decisions.ok()) << decisions.status().message();
  EXPECT_EQ(decisions->plan.num_blocks, 10);
}

TEST(Sizing, TakesItsShareOfWhatIsLeftBesideWeightsAndLogits) {
  EngineConfig config = Config();
  config.cache.gpu_memory_utilization = 0.5;
  config.scheduler.max_num_seqs = 256;
  // 300 MiB: 100 of weights, 128 to work, 1 of logits; half of 71 MiB in blocks of 16 KiB.
  const auto decisions = SizeEngine(config, Facts(), Free(300 * kMiB));
  ASSERT_TRUE(decisions.ok());
  EXPECT_EQ(decisions->plan.num_blocks, 71 * 1024 / 2 / 16);
}

TEST(Sizing, AutoTakesTheLongestContextThatFits) {
  EngineConfig config = Config();
  config.model.max_model_len = "auto";
  config.cache.kv_cache_memory_bytes = 101 * 16 * 1024;  // the null block and 100 more
  const auto decisions = SizeEngine(config, Facts(), Free(1024 * kMiB));
  ASSERT_TRUE(decisions.ok()) << decisions.status().message();
  EXPECT_EQ(decisions->plan.num_blocks, 101);
  EXPECT_EQ(decisions->plan.max_model_len, 1600);
}

TEST(Sizing, RefusesALengthThatDoesNotFitAndSaysWhichDoes) {
  EngineConfig config = Config();
  config.cache.num_gpu_blocks_override = 101;
  const std::string message = Refusal(config, 1024 * kMiB);
  EXPECT_NE(message.find("4096 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("fits is 1600"), std::string::npos) << message;
}

TEST(Sizing, RefusesMoreThanTheMachineHas) {
  EngineConfig config = Config();
  config.cache.kv_cache_memory_bytes = static_cast<std::int64_t>(2048 * kMiB);
  EXPECT_NE(Refusal(config, 1024 * kMiB).find("kv-cache-memory-bytes"), std::string::npos);
  config = Config();
  config.cache.num_gpu_blocks_override = std::int64_t{1} << 62;
  EXPECT_NE(Refusal(config, 1024 * kMiB).find("num-gpu-blocks-override"), std::string::npos);
  EXPECT_NE(Refusal(Config(), 0).find("max-model-len"), std::string::npos);
}

TEST(Sizing, RefusesALengthBeyondTheModels) {
  EngineConfig config = Config();
  config.model.max_model_len = "8k";
  EXPECT_NE(Refusal(config, 1024 * kMiB).find("4096 positions"), std::string::npos);
}

TEST(Sizing, WantsTheBudgetToHoldAPromptWhereChunksAreOff) {
  EngineConfig config = Config();
  config.scheduler.enable_chunked_prefill = false;
  EXPECT_NE(Refusal(config, 1024 * kMiB).find("max-num-batched-tokens"), std::string::npos);
  config.model.max_model_len = "2048";
  EXPECT_EQ(Refusal(config, 1024 * kMiB), "accepted");
}

TEST(Sizing, GivesAReasonForEachDecision) {
  const auto decisions = SizeEngine(Config(), Facts(), Free(64 * 1024 * kMiB));
  ASSERT_TRUE(decisions.ok());
  EXPECT_EQ(decisions->reasons.size(), 3U);
  for (const std::string& reason : decisions->reasons) {
    EXPECT_NE(reason.find(": "), std::string::npos) << reason;
  }
}

}  // namespace
}  // namespace quire
