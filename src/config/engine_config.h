// What a user may ask of the engine, under vLLM's names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/enum_names.h"
#include "formats/json.h"

namespace quire {

enum class ModelDtype { kAuto, kFloat16, kBFloat16, kFloat32 };
enum class ComputeDtype { kAuto, kFloat32 };  // kAuto: int8 activations where they are faster
enum class KvCacheDtype { kAuto, kFloat32, kFloat16, kBFloat16, kInt8PerTokenHead };
enum class LogprobsMode { kRawLogprobs, kRawLogits, kProcessedLogprobs, kProcessedLogits };
enum class SchedulingPolicy { kFcfs, kPriority };
enum class PrefixHashAlgo { kSha256, kXxhash };

template <>
struct EnumNames<ModelDtype> {
  static constexpr std::array<EnumName<ModelDtype>, 6> kNames = {
      {{"auto", ModelDtype::kAuto},
       {"float16", ModelDtype::kFloat16},
       {"half", ModelDtype::kFloat16},
       {"bfloat16", ModelDtype::kBFloat16},
       {"float32", ModelDtype::kFloat32},
       {"float", ModelDtype::kFloat32}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

template <>
struct EnumNames<ComputeDtype> {
  static constexpr std::array<EnumName<ComputeDtype>, 2> kNames = {
      {{"auto", ComputeDtype::kAuto}, {"float32", ComputeDtype::kFloat32}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

template <>
struct EnumNames<KvCacheDtype> {
  static constexpr std::array<EnumName<KvCacheDtype>, 6> kNames = {
      {{"auto", KvCacheDtype::kAuto},
       {"float32", KvCacheDtype::kFloat32},
       {"float16", KvCacheDtype::kFloat16},
       {"bfloat16", KvCacheDtype::kBFloat16},
       {"int8_per_token_head", KvCacheDtype::kInt8PerTokenHead},
       {"int8", KvCacheDtype::kInt8PerTokenHead}}};
  static constexpr std::array<std::string_view, 15> kRefused = {"fp8",
                                                                "fp8_e4m3",
                                                                "fp8_e5m2",
                                                                "fp8_inc",
                                                                "fp8_ds_mla",
                                                                "nvfp4_ds_mla",
                                                                "turboquant_k8v4",
                                                                "turboquant_4bit_nc",
                                                                "turboquant_k3v4_nc",
                                                                "turboquant_3bit_nc",
                                                                "ultraquant_4bit",
                                                                "int4_per_token_head",
                                                                "fp8_per_token_head",
                                                                "nvfp4",
                                                                "nvfp4_4over6"};
};

template <>
struct EnumNames<LogprobsMode> {
  static constexpr std::array<EnumName<LogprobsMode>, 4> kNames = {
      {{"raw_logprobs", LogprobsMode::kRawLogprobs},
       {"raw_logits", LogprobsMode::kRawLogits},
       {"processed_logprobs", LogprobsMode::kProcessedLogprobs},
       {"processed_logits", LogprobsMode::kProcessedLogits}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

template <>
struct EnumNames<SchedulingPolicy> {
  static constexpr std::array<EnumName<SchedulingPolicy>, 2> kNames = {
      {{"fcfs", SchedulingPolicy::kFcfs}, {"priority", SchedulingPolicy::kPriority}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

// The hash is of Quire's own encoding, so vLLM's names for how it encodes mean the same here.
template <>
struct EnumNames<PrefixHashAlgo> {
  static constexpr std::array<EnumName<PrefixHashAlgo>, 4> kNames = {
      {{"sha256", PrefixHashAlgo::kSha256},
       {"sha256_cbor", PrefixHashAlgo::kSha256},
       {"xxhash", PrefixHashAlgo::kXxhash},
       {"xxhash_cbor", PrefixHashAlgo::kXxhash}}};
  static constexpr std::array<std::string_view, 0> kRefused = {};
};

// Which files, and how they are read.
struct ModelOptions {
  std::string model;      // a folder, a GGUF file or a name; empty: the default model
  std::string tokenizer;  // another folder or file for the tokenizer; empty: the model's
  ModelDtype dtype = ModelDtype::kAuto;
  ComputeDtype compute_dtype = ComputeDtype::kAuto;  // as asked; see effective_compute_dtype()
  std::string max_model_len;               // what ParseMaxModelLen reads; empty: the model's own
  Json hf_overrides;                       // members put over config.json's
  std::string generation_config = "auto";  // auto: the model's; vllm: none; or a folder
  Json override_generation_config;         // members put over the generation config's
  std::string chat_template;               // a file or the template itself; empty: the model's
  bool use_mmap = true;
  bool mlock = false;
  // A folder; auto: the program's own, none inside another program; off: none.
  std::string packed_cache = "auto";
  std::int64_t packed_cache_bytes = std::int64_t{16} << 30;  // at most so many in that folder
  int max_logprobs = 20;                                     // -1: no bound
  LogprobsMode logprobs_mode = LogprobsMode::kRawLogprobs;
  std::int64_t seed = 0;

  // dtype float32 implies compute-dtype float32.
  ComputeDtype effective_compute_dtype() const {
    return dtype == ModelDtype::kFloat32 ? ComputeDtype::kFloat32 : compute_dtype;
  }
  friend bool operator==(const ModelOptions&, const ModelOptions&) = default;
};

struct CacheOptions {
  int block_size = 16;                                  // tokens a block, a power of two
  std::optional<std::int64_t> num_gpu_blocks_override;  // KV blocks; unset: as many as fit
  std::optional<std::int64_t> kv_cache_memory_bytes;    // unset: by gpu_memory_utilization
  double gpu_memory_utilization = 0.9;                  // of the memory free after loading, (0, 1]
  bool prefault_kv_cache = false;                       // take its memory from the system at start
  KvCacheDtype kv_cache_dtype = KvCacheDtype::kAuto;
  bool enable_prefix_caching = true;
  PrefixHashAlgo prefix_caching_hash_algo = PrefixHashAlgo::kSha256;

  friend bool operator==(const CacheOptions&, const CacheOptions&) = default;
};

struct SchedulerOptions {
  int max_num_batched_tokens = 2048;     // new tokens a step
  int max_num_seqs = 256;                // requests running at once
  int long_prefill_token_threshold = 0;  // most new tokens of one request a step; 0: no bound
  int max_num_partial_prefills = 1;      // prompts in the middle of their prefill at once
  int max_long_partial_prefills = 1;     // of those, prompts longer than the threshold
  bool enable_chunked_prefill = true;
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;
  int max_waiting = 65536;                         // requests queued before new ones are refused
  std::optional<std::int64_t> max_waiting_tokens;  // of their prompts together; unset: no bound
  int stream_interval = 1;  // tokens of an answer between two pieces of its stream

  friend bool operator==(const SchedulerOptions&, const SchedulerOptions&) = default;
};

struct ParallelOptions {
  int threads = 0;  // compute threads; 0: one a physical core
  bool pin = true;  // each to its core

  friend bool operator==(const ParallelOptions&, const ParallelOptions&) = default;
};

struct StructuredOptions {
  // vLLM's StructuredOutputsConfig: backend, disable_fallback, disable_any_whitespace,
  // disable_additional_properties, reasoning_parser, enable_in_reasoning.
  Json config;
  double grammar_compile_timeout = 10.0;  // seconds

  // Members of `config`, which is valid.
  bool disable_any_whitespace() const { return Is("disable_any_whitespace"); }
  bool disable_additional_properties() const { return Is("disable_additional_properties"); }
  bool enable_in_reasoning() const { return Is("enable_in_reasoning"); }
  std::string reasoning_parser() const;  // empty: not said

  Status Validate() const;

  friend bool operator==(const StructuredOptions&, const StructuredOptions&) = default;

 private:
  bool Is(std::string_view name) const;
};

struct EngineConfig {
  ModelOptions model;
  CacheOptions cache;
  SchedulerOptions scheduler;
  ParallelOptions parallel;
  StructuredOptions structured;

  // Each field alone and against the others; rules that need the model are checked when it is
  // loaded.
  Status Validate() const;

  friend bool operator==(const EngineConfig&, const EngineConfig&) = default;
};

}  // namespace quire
