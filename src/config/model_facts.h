// What is known of a model once it is loaded, and what was decided about its KV cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/id.h"
#include "config/kv_cache_spec.h"

namespace quire {

// Multiplications with additions that the matrix products of a forward take.
struct ForwardCost {
  double per_token = 0;
  double per_logits_row = 0;  // of each token whose logits are wanted
  double per_pair = 0;        // of each token and each position that it sees
};

// Facts of a loaded model that the layers above need; plain values.
struct ModelFacts {
  std::string path;
  std::string architecture;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;  // the context that the checkpoint declares
  std::vector<TokenId> eos_token_ids;
  std::string generation_config;  // JSON text, empty when the checkpoint has none
  KvCacheSpec kv_spec;
  KvElement kv_element;
  std::string kv_dtype;  // float32, float16, bfloat16 or int8_per_token_head
  std::uint64_t weight_bytes = 0;
  ForwardCost cost;
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
  bool prefault = false;  // take the memory of all blocks at once
};

using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace quire
