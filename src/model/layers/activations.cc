#include "model/layers/activations.h"

#include <algorithm>

#include "base/log.h"

namespace quire {
namespace {

constexpr std::int64_t kAlignment = 16;  // values: 64 bytes

std::int64_t Padded(std::int64_t values) {
  return (values + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

DecoderActivations::DecoderActivations(const ModelConfig& config)
    : hidden_size_(config.hidden_size),
      intermediate_size_(config.intermediate_size),
      num_heads_(config.num_heads),
      num_kv_heads_(config.num_kv_heads),
      head_dim_(config.head_dim) {}

Status DecoderActivations::Reserve(std::int64_t max_rows) {
  if (max_rows <= max_rows_) return {};
  const std::int64_t attention = 2 * Padded(max_rows * num_heads_ * head_dim_) +
                                 2 * Padded(max_rows * num_kv_heads_ * head_dim_);
  const std::int64_t mlp = 2 * Padded(max_rows * intermediate_size_);
  normed_start_ = Padded(max_rows * hidden_size_);
  inner_start_ = 2 * normed_start_;
  const std::int64_t num_values = inner_start_ + std::max(attention, mlp);
  QUIRE_ASSIGN_OR_RETURN(memory_,
                         Buffer::Allocate(static_cast<std::size_t>(num_values) * sizeof(float)));
  max_rows_ = max_rows;
  return {};
}

void DecoderActivations::SetRows(std::int64_t rows) {
  QUIRE_CHECK(rows <= max_rows_) << rows << " rows of " << max_rows_;
  rows_ = rows;
}

AttentionBuffers DecoderActivations::attention() {
  float* start = memory_.f32() + inner_start_;
  const std::int64_t q_values = Padded(rows_ * num_heads_ * head_dim_);
  const std::int64_t kv_values = Padded(rows_ * num_kv_heads_ * head_dim_);
  const Shape q_shape{rows_, num_heads_, head_dim_};
  const Shape kv_shape{rows_, num_kv_heads_, head_dim_};
  return {F32View(start, q_shape), F32View(start + q_values, kv_shape),
          F32View(start + q_values + kv_values, kv_shape),
          F32View(start + q_values + 2 * kv_values, q_shape)};
}

GatedMlp::Buffers DecoderActivations::mlp() {
  float* start = memory_.f32() + inner_start_;
  const Shape shape{rows_, intermediate_size_};
  return {F32View(start, shape), F32View(start + Padded(rows_ * intermediate_size_), shape)};
}

}  // namespace quire
