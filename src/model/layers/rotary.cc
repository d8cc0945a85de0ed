#include "model/layers/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/log.h"

namespace quire {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;

// The base that stretches the longest waves so that factor * original positions fit, fixed once
// for all lengths. A base that grows with each request's length would make a token's keys depend
// on when they were computed.
double DynamicBase(const RopeConfig& rope, int rotary_dim) {
  const double dim = rotary_dim;
  const double stretch = rope.factor * rope.factor - (rope.factor - 1.0);
  if (dim <= 2.0) return rope.theta * stretch;
  return rope.theta * std::pow(stretch, dim / (dim - 2.0));
}

// Waves short against the original context stay, long ones are stretched, in between both mix.
double Llama3Frequency(const RopeConfig& rope, double frequency) {
  const double original = static_cast<double>(rope.original_max_positions);
  const double wave = kTwoPi / frequency;
  if (wave < original / rope.high_freq_factor) return frequency;
  if (wave > original / rope.low_freq_factor) return frequency / rope.factor;
  const double smooth =
      (original / wave - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

struct YarnRange {
  double low;
  double high;
};

// Between which pairs yarn goes from untouched to stretched.
YarnRange FindYarnRange(const RopeConfig& rope, int rotary_dim) {
  const auto pair_of = [&](double rotations) {
    return rotary_dim *
           std::log(static_cast<double>(rope.original_max_positions) / (rotations * kTwoPi)) /
           (2.0 * std::log(rope.theta));
  };
  YarnRange range{pair_of(rope.beta_fast), pair_of(rope.beta_slow)};
  if (rope.truncate) range = {std::floor(range.low), std::ceil(range.high)};
  range = {std::max(range.low, 0.0), std::min(range.high, rotary_dim - 1.0)};
  if (range.low == range.high) range.high += 0.001;
  return range;
}

double YarnFrequency(const RopeConfig& rope, const YarnRange& range, int pair, double frequency) {
  const double ramp = std::clamp((pair - range.low) / (range.high - range.low), 0.0, 1.0);
  return frequency / rope.factor * ramp + frequency * (1.0 - ramp);
}

double YarnScale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

}  // namespace

std::vector<float> InverseFrequencies(const RopeConfig& rope, int rotary_dim) {
  const bool is_dynamic = rope.scaling == RopeScaling::kDynamic;
  const double base = is_dynamic ? DynamicBase(rope, rotary_dim) : rope.theta;
  const YarnRange range = FindYarnRange(rope, rotary_dim);
  std::vector<float> frequencies(static_cast<std::size_t>(rotary_dim / 2));
  for (int pair = 0; pair < rotary_dim / 2; ++pair) {
    double frequency = std::pow(base, -2.0 * pair / rotary_dim);
    switch (rope.scaling) {
      case RopeScaling::kNone:
      case RopeScaling::kDynamic:
        break;
      case RopeScaling::kLinear:
        frequency /= rope.factor;
        break;
      case RopeScaling::kLlama3:
        frequency = Llama3Frequency(rope, frequency);
        break;
      case RopeScaling::kYarn:
        frequency = YarnFrequency(rope, range, pair, frequency);
        break;
    }
    const auto i = static_cast<std::size_t>(pair);
    if (!rope.factors.empty()) frequency /= static_cast<double>(rope.factors[i]);
    frequencies[i] = static_cast<float>(frequency);
  }
  return frequencies;
}

float RopeMagnitude(const RopeConfig& rope) {
  if (rope.scaling != RopeScaling::kYarn) return 1.0F;
  if (rope.attention_factor) return static_cast<float>(*rope.attention_factor);
  const double mscale = rope.mscale.value_or(0.0), all_dim = rope.mscale_all_dim.value_or(0.0);
  if (mscale != 0.0 && all_dim != 0.0) {
    return static_cast<float>(YarnScale(rope.factor, mscale) / YarnScale(rope.factor, all_dim));
  }
  return static_cast<float>(YarnScale(rope.factor, 1.0));
}

Rotary::Rotary(const RopeConfig& rope, int rotary_dim)
    : frequencies_(InverseFrequencies(rope, rotary_dim)),
      magnitude_(RopeMagnitude(rope)),
      rotary_dim_(rotary_dim),
      style_(rope.style) {}

Status Rotary::Reserve(std::int64_t max_positions) {
  if (max_positions <= max_positions_) return {};
  const std::size_t num_values =
      static_cast<std::size_t>(max_positions) * static_cast<std::size_t>(rotary_dim_);
  QUIRE_ASSIGN_OR_RETURN(table_, Buffer::Allocate(num_values * sizeof(float)));
  max_positions_ = max_positions;
  num_filled_ = 0;
  return {};
}

ops::RopeTable Rotary::Table(std::span<const std::int32_t> positions) {
  std::int64_t end = 0;
  for (const std::int32_t position : positions) {
    end = std::max(end, std::int64_t{position} + 1);
  }
  QUIRE_CHECK(end <= max_positions_) << "position " << end - 1 << " of " << max_positions_;
  if (end > num_filled_) Fill(end);
  const std::size_t num_values =
      static_cast<std::size_t>(max_positions_) * static_cast<std::size_t>(rotary_dim_);
  return {{table_.f32(), num_values}, max_positions_, rotary_dim_, style_};
}

void Rotary::Fill(std::int64_t end) {
  const std::size_t num_pairs = frequencies_.size();
  for (; num_filled_ < end; ++num_filled_) {
    float* row = table_.f32() + num_filled_ * rotary_dim_;
    for (std::size_t pair = 0; pair < num_pairs; ++pair) {
      // The angle is rounded to f32 before its cosine is taken, as models are trained with.
      const float angle = static_cast<float>(num_filled_) * frequencies_[pair];
      row[pair] = static_cast<float>(std::cos(static_cast<double>(angle))) * magnitude_;
      row[num_pairs + pair] = static_cast<float>(std::sin(static_cast<double>(angle))) * magnitude_;
    }
  }
}

}  // namespace quire
