// What a user may ask of the engine, under vLLM's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/json.h"

namespace quire {

enum class ComputeDtype { kAuto, kFloat32 };  // kAuto: int8 activations where they are faster
enum class KvCacheDtype { kAuto, kFloat32, kFloat16, kBFloat16 };
enum class SchedulingPolicy { kFcfs, kPriority };
enum class PrefixHashAlgo { kSha256, kXxhash };

// Which files, and how they are read.
struct ModelOptions {
  std::string model;      // a folder, a GGUF file or a name; empty: the default model
  std::string tokenizer;  // another folder or file for the tokenizer; empty: the model's
  std::string dtype = "auto";
  ComputeDtype compute_dtype = ComputeDtype::kAuto;  // kFloat32 also with dtype float32
  std::string max_model_len;  // tokens, 4k, 4K, or auto: what fits; empty: the model's own
  Json hf_overrides;          // members put over config.json's
  std::string generation_config = "auto";  // auto: the model's; vllm: none; or a folder
  std::string chat_template;               // a file or the template itself; empty: the model's
  bool use_mmap = true;
  bool mlock = false;
  int max_logprobs = 20;  // -1: no bound
  std::int64_t seed = 0;
};

struct CacheOptions {
  int block_size = 16;                                  // tokens a block, a power of two
  std::optional<std::int64_t> num_gpu_blocks_override;  // KV blocks; unset: as many as fit
  std::optional<std::int64_t> kv_cache_memory_bytes;    // unset: by gpu_memory_utilization
  double gpu_memory_utilization = 0.9;                  // of the memory free after loading, (0, 1]
  KvCacheDtype kv_cache_dtype = KvCacheDtype::kAuto;
  bool enable_prefix_caching = true;
  PrefixHashAlgo prefix_caching_hash_algo = PrefixHashAlgo::kSha256;
};

struct SchedulerOptions {
  int max_num_batched_tokens = 2048;     // new tokens a step
  int max_num_seqs = 256;                // requests running at once
  int long_prefill_token_threshold = 0;  // most new tokens of one request a step; 0: no bound
  int max_num_partial_prefills = 1;      // prompts in the middle of their prefill at once
  int max_long_partial_prefills = 1;     // of those, prompts longer than the threshold
  bool enable_chunked_prefill = true;
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;
  int max_waiting = 65536;  // requests queued before new ones are refused
};

struct ParallelOptions {
  int threads = 0;  // compute threads; 0: one a physical core
  bool pin = true;  // each to its core
};

struct EngineConfig {
  ModelOptions model;
  CacheOptions cache;
  SchedulerOptions scheduler;
  ParallelOptions parallel;

  // Each field alone and against the others; rules that need the model are checked when it is
  // loaded.
  Status Validate() const;
};

}  // namespace quire
