#include "model/weight_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "model/testing.h"
#include "ops/testing.h"

namespace quire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WeightMapTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Checkpoint> Open(const std::vector<TestTensor>& tensors) {
    folder_.Write("config.json", "{}");
    folder_.Write("model.safetensors", SafetensorsOf(tensors));
    return Checkpoint::Open(folder_.Path(), {}).value();
  }
  Result<WeightMap::Loaded> Load(WeightMap& weights) {
    return weights.Load(ops_.ctx, {ops::MatmulPrecision::kFloat32, &progress_});
  }

  TempFolder folder_;
  ops::TestContext ops_{2};
  std::function<void(std::uint64_t, std::uint64_t)> progress_;
};

TEST_F(WeightMapTest, FillsEveryPlaceAndTellsItsProgressInBytes) {
  const auto checkpoint = Open({{"m.weight", {4, 8}, 2.0F},
                                {"m.bias", {4}, 3.0F},
                                {"table", {5, 8}, 1.0F},
                                {"v", {7}, 5.0F}});
  Projection projection;
  ConstTensorView table, vector, absent;
  WeightMap weights(*checkpoint);
  weights.Linear("m", {4, 8, true}, &projection);
  weights.Table("table", 5, 8, &table);
  weights.Vector("v", 7, &vector);
  weights.OptionalVector("absent", 7, &absent);
  std::uint64_t last = 0, all = 0;
  progress_ = [&](std::uint64_t done, std::uint64_t total) { last = done, all = total; };
  const auto loaded = Load(weights);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(projection.weight.out_features(), 4);
  EXPECT_EQ(projection.weight.in_features(), 8);
  EXPECT_EQ(projection.bias.f32()[3], 3.0F);
  EXPECT_EQ(vector.f32()[6], 5.0F);
  EXPECT_TRUE(absent.empty());
  EXPECT_EQ(table.f32()[39], 1.0F);
  EXPECT_EQ(all, 4U * (32 + 4 + 40 + 7));
  EXPECT_EQ(last, all);
  EXPECT_GE(loaded->weight_bytes, all);
}

TEST_F(WeightMapTest, TellsAllThatIsWrongAtOnce) {
  const auto checkpoint = Open({{"a.weight", {4, 8}}, {"surplus", {1}}, {"b", {3}}});
  ops::LinearWeight matrix;
  ConstTensorView vector;
  WeightMap weights(*checkpoint);
  weights.Matrix("a.weight", 8, 4, &matrix);
  weights.Vector("b", 3, &vector);
  weights.Vector("lost", 3, &vector);
  const auto loaded = Load(weights);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kDataLoss);
  EXPECT_THAT(loaded.status().message(),
              AllOf(HasSubstr("1 tensor is missing: lost"),
                    HasSubstr("a.weight is [4, 8], must be [8, 4]"), HasSubstr("surplus")));
}

TEST_F(WeightMapTest, BoundsItsMessage) {
  const auto checkpoint = Open({{"x", {1}}});
  std::vector<ConstTensorView> places(500);
  WeightMap weights(*checkpoint);
  for (std::size_t i = 0; i < places.size(); ++i) {
    weights.Vector(StrCat("wanted.", i), 3, &places[i]);
  }
  const auto loaded = Load(weights);
  EXPECT_THAT(loaded.status().message(),
              AllOf(HasSubstr("500 tensors are missing: wanted.0, "), HasSubstr("and 490 more"),
                    Not(HasSubstr("wanted.10"))));
}

TEST_F(WeightMapTest, PassesOverRotaryBuffersAndIgnoredNames) {
  const auto checkpoint = Open({{"model.layers.0.self_attn.rotary_emb.inv_freq", {4}},
                                {"lm_head.weight", {2, 2}},
                                {"v", {1}}});
  ConstTensorView vector;
  WeightMap weights(*checkpoint);
  weights.Vector("v", 1, &vector);
  weights.Ignore("lm_head.weight");
  EXPECT_TRUE(Load(weights).ok());
}

TEST_F(WeightMapTest, CountsATiedHeadOnce) {
  const auto checkpoint = Open({{"embed", {64, 32}, 1.0F}});
  ConstTensorView table;
  ops::LinearWeight head;
  WeightMap weights(*checkpoint);
  weights.Table("embed", 64, 32, &table);
  weights.Matrix("embed", 64, 32, &head);
  const auto loaded = Load(weights);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const std::size_t table_bytes = 64 * 32 * 4;
  EXPECT_EQ(loaded->weight_bytes, table_bytes + (head.owns_copy() ? head.num_bytes() : 0));
}

TEST_F(WeightMapTest, CutsAFusedMatrixIntoItsParts) {
  folder_.Write("config.json", "{}");
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<std::byte> bytes = SerializeSafetensors({{{"qkv.weight", {3, 2}, values}}});
  folder_.Write("model.safetensors", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto checkpoint = Checkpoint::Open(folder_.Path(), {}).value();
  Projection first, second;
  WeightMap weights(*checkpoint);
  weights.FusedLinear("qkv", 2, {{&first, 1}, {&second, 2}});
  ASSERT_TRUE(Load(weights).ok());
  const float x[] = {1.0F, 10.0F};
  float y[3] = {};
  const ops::LinearJob jobs[] = {{&first.weight, F32View(y, {1, 1})},
                                 {&second.weight, F32View(y + 1, {1, 2})}};
  ops::Linear(ops_.ctx, F32View(x, {1, 2}), jobs);
  EXPECT_THAT(y, ::testing::ElementsAre(21.0F, 43.0F, 65.0F));
}

TEST_F(WeightMapTest, RefusesTypesThatNoKernelMultiplies) {
  folder_.Write("config.json", "{}");
  std::string header = R"({"w": {"dtype": "I64", "shape": [2, 2], "data_offsets": [0, 32]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  folder_.Write("model.safetensors", file + header + std::string(32, '\0'));
  const auto checkpoint = Checkpoint::Open(folder_.Path(), {}).value();
  ops::LinearWeight matrix;
  WeightMap weights(*checkpoint);
  weights.Matrix("w", 2, 2, &matrix);
  const auto loaded = Load(weights);
  EXPECT_EQ(loaded.status().code(), Code::kUnimplemented);
  EXPECT_THAT(loaded.status().message(), HasSubstr("w (I64)"));
}

TEST(GgufTensorName, TranslatesWhatItKnowsAndKeepsTheRest) {
  EXPECT_EQ(GgufTensorName("model.embed_tokens.weight"), "token_embd.weight");
  EXPECT_EQ(GgufTensorName("lm_head.weight"), "output.weight");
  EXPECT_EQ(GgufTensorName("model.layers.12.self_attn.q_proj.bias"), "blk.12.attn_q.bias");
  EXPECT_EQ(GgufTensorName("model.layers.0.post_attention_layernorm.weight"),
            "blk.0.ffn_norm.weight");
  EXPECT_EQ(GgufTensorName("rope_freqs.weight"), "rope_freqs.weight");
  EXPECT_EQ(GgufTensorName("model.layers.x"), "model.layers.x");
}

}  // namespace
}  // namespace quire
