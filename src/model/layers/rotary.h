// Rotary position embedding: the angles of each position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/model_config.h"
#include "ops/elementwise.h"
#include "tensor/tensor.h"

namespace quire {

// How fast each pair of a head turns, in radians a position, [rotary_dim / 2]; scaling included.
std::vector<float> InverseFrequencies(const RopeConfig& rope, int rotary_dim);

// What cosines and sines are multiplied with; 1 but for yarn.
float RopeMagnitude(const RopeConfig& rope);

// Cosines and sines for positions up to a limit, computed when a position is first met: a long
// declared context then costs neither time nor memory. One thread.
class Rotary {
 public:
  Rotary(const RopeConfig& rope, int rotary_dim);

  // Room for positions below `max_positions`. Tables handed out before are void.
  Status Reserve(std::int64_t max_positions);

  // The table with the angles of all `positions`, each below what was reserved. Allocates nothing.
  ops::RopeTable Table(std::span<const std::int32_t> positions);

 private:
  void Fill(std::int64_t end);

  std::vector<float> frequencies_;
  float magnitude_;
  int rotary_dim_;
  ops::RopeStyle style_;
  Buffer table_;  // [max_positions_, rotary_dim_]
  std::int64_t max_positions_ = 0;
  std::int64_t num_filled_ = 0;
};

}  // namespace quire
