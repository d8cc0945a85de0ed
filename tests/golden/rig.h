// The least that runs a model: a pool of KV blocks handed out in shuffled order, block tables, and
// steps of several sequences. For tests that hold models against their references.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "kernels/table.h"
#include "model/checkpoint.h"
#include "model/model.h"
#include "ops/context.h"
#include "platform/thread_pool.h"
#include "tensor/tensor.h"

namespace quire::golden {

struct RigOptions {
  ops::MatmulPrecision precision = ops::MatmulPrecision::kFloat32;
  int num_threads = 1;
  int block_size = 16;
  int num_blocks = 256;  // of the pool, block 0 included
  DType kv_dtype = DType::kF32;
  std::int64_t max_rows = 512;
  std::int64_t max_model_len = 1024;
  Json overrides = {};
};

// One request: the tokens in the cache and the blocks that hold them, a list for each KV group.
struct Sequence {
  std::int64_t num_tokens = 0;
  std::vector<std::vector<std::int32_t>> blocks;
};

// New tokens of one sequence in a step.
struct Chunk {
  Sequence* sequence;
  std::span<const TokenId> tokens;
};

// [rows, cols] of f32.
struct Rows {
  std::int64_t cols = 0;
  std::vector<float> values;

  std::int64_t count() const { return static_cast<std::int64_t>(values.size()) / cols; }
  std::span<const float> operator[](std::int64_t row) const {
    return std::span(values).subspan(static_cast<std::size_t>(row * cols),
                                     static_cast<std::size_t>(cols));
  }
  void Append(const Rows& more);
};

struct StepOutput {
  Rows hidden;
  Rows logits;  // of every row
};

// One thread. A CHECK fails where a step is larger than the options allow.
class Rig {
 public:
  static Result<std::unique_ptr<Rig>> Create(const std::string& model_path,
                                             const RigOptions& options);

  Sequence NewSequence() const;
  void Free(Sequence& sequence);

  // With `wanted_rows` the output of no other row means anything.
  StepOutput Step(std::span<const Chunk> chunks,
                  std::optional<std::span<const std::int32_t>> wanted_rows = std::nullopt);

  // A whole prompt, `chunk` tokens a step (0: at once).
  StepOutput Run(Sequence& sequence, std::span<const TokenId> tokens, std::int64_t chunk = 0);

  const Model& model() const { return *model_; }

 private:
  explicit Rig(const RigOptions& options);
  Status AllocatePages();
  void GrowBlocks(Sequence& sequence, std::int64_t num_new);
  // Gives back blocks that every later token's window has left.
  void DropBlocks(const KvGroupSpec& group, Sequence& sequence, std::vector<std::int32_t>& blocks);

  RigOptions options_;
  kernels::CpuTable table_;
  ThreadPool pool_;
  ops::Scratch scratch_;
  ops::OpContext ctx_;
  std::unique_ptr<Model> model_;
  KvCacheSpec spec_;
  std::vector<Buffer> memory_;
  std::vector<ops::KvPages> pages_;  // one a layer
  std::vector<std::int32_t> free_blocks_;
};

// Index of the largest value, the lowest among equals.
TokenId BestToken(std::span<const float> logits);

// log softmax(logits)[token], in double precision.
double Logprob(std::span<const float> logits, TokenId token);

}  // namespace quire::golden
