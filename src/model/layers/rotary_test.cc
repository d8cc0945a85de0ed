#include "model/layers/rotary.h"

#include <cmath>

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(InverseFrequencies, FallGeometricallyWithoutScaling) {
  const auto frequencies = InverseFrequencies({.theta = 10000.0}, 8);
  ASSERT_EQ(frequencies.size(), 4U);
  EXPECT_FLOAT_EQ(frequencies[0], 1.0F);
  EXPECT_FLOAT_EQ(frequencies[1], 0.1F);
  EXPECT_FLOAT_EQ(frequencies[3], 0.001F);
}

TEST(InverseFrequencies, DivideByTheFactorOfLinearScaling) {
  const RopeConfig rope{.scaling = RopeScaling::kLinear, .factor = 4.0};
  EXPECT_FLOAT_EQ(InverseFrequencies(rope, 8)[1], 0.025F);
}

TEST(InverseFrequencies, OfDynamicScalingUseOneStretchedBase) {
  const RopeConfig rope{.scaling = RopeScaling::kDynamic, .factor = 2.0};
  const double base = 10000.0 * std::pow(3.0, 16.0 / 14.0);
  EXPECT_FLOAT_EQ(InverseFrequencies(rope, 16)[3], static_cast<float>(std::pow(base, -6.0 / 16.0)));
}

TEST(InverseFrequencies, OfLlama3KeepShortWavesAndStretchLongOnes) {
  const RopeConfig rope{.theta = 500000.0,
                        .scaling = RopeScaling::kLlama3,
                        .factor = 8.0,
                        .original_max_positions = 8192,
                        .low_freq_factor = 1.0,
                        .high_freq_factor = 4.0};
  const auto plain = InverseFrequencies({.theta = 500000.0}, 128);
  const auto scaled = InverseFrequencies(rope, 128);
  EXPECT_EQ(scaled[0], plain[0]);
  EXPECT_FLOAT_EQ(scaled[63], plain[63] / 8.0F);
  EXPECT_LT(scaled[32], plain[32]);
  EXPECT_GT(scaled[32], plain[32] / 8.0F);
}

TEST(InverseFrequencies, DivideByTheFactorsOfTheFile) {
  RopeConfig rope;
  rope.factors = {1.0F, 2.0F};
  EXPECT_FLOAT_EQ(InverseFrequencies(rope, 4)[1], 0.005F);
}

TEST(RopeMagnitude, OfYarnComesFromTheFactorUnlessGiven) {
  RopeConfig rope{.scaling = RopeScaling::kYarn, .factor = 4.0};
  EXPECT_FLOAT_EQ(RopeMagnitude(rope), static_cast<float>(0.1 * std::log(4.0) + 1.0));
  rope.mscale = 0.5;
  EXPECT_FLOAT_EQ(RopeMagnitude(rope), static_cast<float>(0.1 * std::log(4.0) + 1.0));
  rope.mscale_all_dim = 2.0;
  EXPECT_FLOAT_EQ(RopeMagnitude(rope),
                  static_cast<float>((0.05 * std::log(4.0) + 1.0) / (0.2 * std::log(4.0) + 1.0)));
  rope.attention_factor = 1.5;
  EXPECT_FLOAT_EQ(RopeMagnitude(rope), 1.5F);
  EXPECT_EQ(RopeMagnitude({.scaling = RopeScaling::kLinear, .factor = 4.0}), 1.0F);
}

TEST(InverseFrequencies, OfYarnMixByRampBetweenItsPairs) {
  RopeConfig rope{.scaling = RopeScaling::kYarn, .factor = 4.0, .original_max_positions = 32};
  // Pairs for 32 and 1 rotations: 16 ln(32 / 2πr) / (2 ln 10000): -1.6 and 1.41, so 0 and 2.
  auto frequencies = InverseFrequencies(rope, 16);
  const auto plain = InverseFrequencies({}, 16);
  EXPECT_FLOAT_EQ(frequencies[0], plain[0]);
  EXPECT_FLOAT_EQ(frequencies[1], plain[1] * (0.5F + 0.5F / 4.0F));
  EXPECT_FLOAT_EQ(frequencies[2], plain[2] / 4.0F);
  rope.truncate = false;
  const double high = 16.0 * std::log(32.0 / (2.0 * M_PI)) / (2.0 * std::log(10000.0));
  frequencies = InverseFrequencies(rope, 16);
  EXPECT_FLOAT_EQ(frequencies[1],
                  static_cast<float>(plain[1] * (1.0 - 1.0 / high + 1.0 / high / 4.0)));
}

TEST(Rotary, GivesCosinesThenSinesOfEachPosition) {
  Rotary rotary({}, 4);
  ASSERT_TRUE(rotary.Reserve(100).ok());
  const std::int32_t positions[] = {7, 99};
  const ops::RopeTable table = rotary.Table(positions);
  ASSERT_EQ(table.cos_sin.size(), 400U);
  EXPECT_FLOAT_EQ(table.cos_sin[7 * 4], std::cos(7.0F));
  EXPECT_FLOAT_EQ(table.cos_sin[99 * 4 + 1], std::cos(0.99F));
  EXPECT_FLOAT_EQ(table.cos_sin[99 * 4 + 2], std::sin(99.0F));
}

TEST(Rotary, GivesTheSameAnglesHoweverFarItWasFilled) {
  Rotary at_once({}, 16), bit_by_bit({}, 16);
  ASSERT_TRUE(at_once.Reserve(64).ok());
  ASSERT_TRUE(bit_by_bit.Reserve(64).ok());
  ops::RopeTable grown = {};
  for (std::int32_t position = 0; position < 64; ++position) {
    grown = bit_by_bit.Table({&position, 1});
  }
  const std::int32_t last = 63;
  const ops::RopeTable whole = at_once.Table({&last, 1});
  EXPECT_TRUE(std::equal(whole.cos_sin.begin(), whole.cos_sin.end(), grown.cos_sin.begin()));
}

TEST(Rotary, KeepsWorkingAfterItGrows) {
  Rotary rotary({}, 4);
  const std::int32_t near = 3, far = 500;
  ASSERT_TRUE(rotary.Reserve(8).ok());
  const float before = rotary.Table({&near, 1}).cos_sin[3 * 4];
  ASSERT_TRUE(rotary.Reserve(501).ok());
  EXPECT_EQ(rotary.Table({&far, 1}).cos_sin[3 * 4], before);
}

}  // namespace
}  // namespace quire
