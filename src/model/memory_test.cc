#include "model/memory.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/testing.h"
#include "model/testing.h"

namespace quire {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

ModelConfig TwoKinds() {
  ModelConfig config;
  config.num_layers = 5;
  config.num_kv_heads = 2;
  config.head_dim = 8;
  config.layer_windows = {0, 32, 32, 0, 32};
  return config;
}

TEST(KvSpecOf, MakesOneGroupOfFullLayersAndOneOfEachWindow) {
  const KvCacheSpec spec = KvSpecOf(TwoKinds());
  ASSERT_THAT(spec.groups, SizeIs(2));
  EXPECT_EQ(spec.groups[0].kind, AttentionKind::kFull);
  EXPECT_THAT(spec.groups[0].layers, ElementsAre(0, 3));
  EXPECT_EQ(spec.groups[1].kind, AttentionKind::kSlidingWindow);
  EXPECT_EQ(spec.groups[1].window, 32);
  EXPECT_THAT(spec.groups[1].layers, ElementsAre(1, 2, 4));
  EXPECT_EQ(spec.num_buffers(), 3);
  EXPECT_EQ(spec.key_head_dim, 8);
}

TEST(KvSpecOf, PutsAllLayersIntoOneGroupWhereNoneHasAWindow) {
  ModelConfig config = TwoKinds();
  config.layer_windows.clear();
  const KvCacheSpec spec = KvSpecOf(config);
  ASSERT_THAT(spec.groups, SizeIs(1));
  EXPECT_THAT(spec.groups[0].layers, ElementsAre(0, 1, 2, 3, 4));
}

TEST(KvBytes, CountsWholeBlocksAndNoMoreThanAWindowTouches) {
  const KvCacheSpec spec = KvSpecOf(TwoKinds());
  const std::int64_t block = 3 * 16 * 2 * 16 * 2;  // buffers, tokens, heads, k and v, bytes
  EXPECT_EQ(KvBytes(spec, {16, {2}}, 1), 2 * block);
  EXPECT_EQ(KvBytes(spec, {16, {2}}, 33), 2 * 3 * block);
  // 160 tokens: ten blocks of full attention, three that a window of 32 can touch.
  EXPECT_EQ(KvBytes(spec, {16, {2}}, 160), 13 * block);
  EXPECT_EQ(KvBytesPerToken(spec, {2}), 2 * block / 16);
}

TEST(KvBytes, SaturatesForAbsurdSizes) {
  ModelConfig config = TwoKinds();
  config.num_kv_heads = 1 << 14;
  config.head_dim = 1 << 13;
  EXPECT_EQ(KvBytes(KvSpecOf(config), {16, {4}}, std::numeric_limits<std::int64_t>::max() / 2),
            std::numeric_limits<std::int64_t>::max());
}

TEST(MeasureWeights, CountsValuesAndBytesOfEachType) {
  TempFolder folder;
  GgufWriter writer;
  writer.Preamble(3, 1).StringEntry("general.architecture", "llama");
  writer.Tensor("token_embd.weight", {32, 4}, 2, 0);  // Q4_0: 18 bytes a block of 32
  writer.Tensor("output_norm.weight", {32}, 0, 96);
  writer.Tensor("rope_freqs.weight", {8}, 0, 224).Data(256);
  const auto checkpoint = Checkpoint::Open(folder.Write("m.gguf", writer.text()), {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const WeightSizes sizes = MeasureWeights(**checkpoint);
  EXPECT_EQ(sizes.num_parameters, 128 + 32);
  EXPECT_EQ(sizes.num_bytes, 72U + 128U + 32U);
  ASSERT_THAT(sizes.by_type, SizeIs(2));
  EXPECT_EQ(sizes.by_type[0].type, DType::kF32);
  EXPECT_EQ(sizes.by_type[0].num_tensors, 2);
  EXPECT_EQ(sizes.by_type[1].type, DType::kQ4_0);
  EXPECT_EQ(sizes.by_type[1].num_values, 128);
}

}  // namespace
}  // namespace quire
