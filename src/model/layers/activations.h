// The buffers that a decoder's layers hand on within one step.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "model/layers/attention.h"
#include "model/layers/gated_mlp.h"
#include "model/model_config.h"
#include "tensor/tensor.h"

namespace quire {

// One allocation, cut anew for each step's number of rows. Attention and feed-forward block share
// their part of it: neither needs what the other left. One thread.
class DecoderActivations {
 public:
  explicit DecoderActivations(const ModelConfig& config);

  // Room for steps of up to `max_rows` rows; never shrinks.
  Status Reserve(std::int64_t max_rows);

  // The rows of this step, at most what was reserved. The views below are of so many rows.
  void SetRows(std::int64_t rows);

  TensorView hidden() { return F32View(memory_.f32(), {rows_, hidden_size_}); }
  TensorView normed() { return F32View(memory_.f32() + normed_start_, {rows_, hidden_size_}); }
  AttentionBuffers attention();
  GatedMlp::Buffers mlp();

 private:
  std::int64_t hidden_size_, intermediate_size_;
  std::int64_t num_heads_, num_kv_heads_, head_dim_;
  Buffer memory_;
  std::int64_t max_rows_ = 0;
  std::int64_t rows_ = 0;
  // Where parts start, in values; each is aligned as the whole is.
  std::int64_t normed_start_ = 0, inner_start_ = 0;
};

}  // namespace quire
