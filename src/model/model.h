// A model that computes: the interface between families and the runner, and how one is loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/id.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "config/kv_cache_spec.h"
#include "model/checkpoint.h"
#include "model/model_config.h"
#include "model/packed_cache.h"
#include "ops/attention.h"
#include "ops/context.h"
#include "ops/linear.h"

namespace quire {

// One step's input; rows of all requests follow each other.
struct ForwardInput {
  std::span<const TokenId> token_ids;           // [rows]
  std::span<const std::int32_t> positions;      // [rows]
  std::span<const ops::AttentionBatch> groups;  // one a KV group
  std::span<const ops::KvPages> pages;          // one a model layer
  // Rising: the rows whose hidden states are read afterwards, of each request some of its last
  // ones. Absent: all of them.
  std::optional<std::span<const std::int32_t>> wanted_rows = std::nullopt;
};

// Immutable after loading but for its activation buffers; one thread at a time.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const = 0;
  virtual KvCacheSpec kv_spec() const = 0;

  // Last hidden states after the final norm, [rows, hidden] f32, valid until the next call; writes
  // the rows' K and V to the pages. Rows are at most what Reserve allowed; what stands in a row
  // that is not wanted is unspecified.
  virtual ConstTensorView Forward(ops::OpContext& ctx, const ForwardInput& input) = 0;

  // logits [rows, vocab] f32 of hidden rows [rows, hidden].
  virtual void Logits(ops::OpContext& ctx, ConstTensorView hidden, TensorView logits) = 0;

  // Sizes the activation buffers for steps of up to `max_rows` rows and rotary tables for
  // `max_model_len` positions.
  virtual Status Reserve(std::int64_t max_rows, std::int64_t max_model_len) = 0;

  // Bytes of weights held in memory of our own and in the checkpoint's mapping.
  virtual std::size_t weight_bytes() const = 0;
};

struct LoadOptions {
  ops::MatmulPrecision precision = ops::MatmulPrecision::kFast;
  PackedCacheOptions packed_cache;
  // Called now and then with (bytes done, bytes in all); may be empty.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

// Builds the model that `checkpoint` describes. All weights that are missing, surplus or misshaped
// are named in one kDataLoss message. The model keeps the checkpoint's mappings alive.
Result<std::unique_ptr<Model>> LoadModel(ops::OpContext& ctx,
                                         std::shared_ptr<const Checkpoint> checkpoint,
                                         const ModelConfig& config, const LoadOptions& options);

}  // namespace quire
