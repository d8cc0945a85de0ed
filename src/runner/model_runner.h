// Runs one rank's model: takes a plan, builds the batch, computes, samples, gives the result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/kv_cache_spec.h"
#include "step/plan.h"
#include "step/result.h"

namespace quire {

// Facts of a loaded model that the layers above need; plain values.
struct ModelFacts {
  std::string path;
  std::string architecture;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;  // the context that the checkpoint declares
  std::vector<TokenId> eos_token_ids;
  std::string generation_config;  // JSON text, empty when the checkpoint has none
  KvCacheSpec kv_spec;
  std::int32_t kv_element_bytes = 4;
  std::uint64_t weight_bytes = 0;
  std::int32_t num_threads = 0;
  std::string isa;
};

// What was decided about the KV cache, once, from facts and options.
struct KvCachePlan {
  std::int64_t num_blocks = 0;  // the null block included
  std::int32_t block_size = 16;
  std::int32_t max_model_len = 0;
  std::int32_t max_rows = 0;  // most rows of a step
  std::int32_t max_requests = 0;
};

using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Persistent batch, block tables, buffers; everything is sized by InitKvCache. One thread at a
// time.
class ModelRunner {
 public:
  // Opens and loads the model that `config` names (a path, already located).
  static Result<std::unique_ptr<ModelRunner>> Load(const EngineConfig& config,
                                                   const LoadProgress& progress);
  ~ModelRunner();
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;

  const ModelFacts& facts() const;

  // Allocates pages and buffers; before the first step.
  Status InitKvCache(const KvCachePlan& plan);

  // Computes one step. A failure of one request stands in its row; a failed Status means that this
  // rank cannot go on.
  Status Execute(const StepPlan& plan, StepResult& out);

  // Raw logits of all rows of one sequence, computed alone with fresh KV: [ids, vocab], for
  // evaluation. `consume` gets one row after another.
  Status EvaluateLogits(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t row, std::span<const float>)>& consume);

 private:
  struct State;
  explicit ModelRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
