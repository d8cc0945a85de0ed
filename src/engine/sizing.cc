#include "engine/sizing.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/strings.h"
#include "config/token_count.h"
#include "kv/kv_cache_manager.h"

namespace quire {
namespace {

// Room for activations, the tokenizer and what else a step needs beside logits.
constexpr std::uint64_t kWorkBytes = std::uint64_t{128} << 20;

std::uint64_t LogitBytes(const EngineConfig& config, const ModelFacts& facts) {
  return static_cast<std::uint64_t>(config.scheduler.max_num_seqs) *
         static_cast<std::uint64_t>(facts.vocab_size) * sizeof(float);
}

class Sizer {
 public:
  static Result<Sizer> Create(const EngineConfig& config, const ModelFacts& facts,
                              const MachineMemory& memory) {
    Sizer sizer(config, facts, memory);
    QUIRE_ASSIGN_OR_RETURN(
        sizer.manager_,
        KvCacheManager::Create({.spec = facts.kv_spec,
                                .num_blocks = 2,
                                .block_size = config.cache.block_size,
                                .max_step_tokens = config.scheduler.max_num_batched_tokens}));
    const std::uint64_t taken = facts.weight_bytes + LogitBytes(config, facts) + kWorkBytes;
    sizer.room_bytes_ = memory.free_bytes > taken ? memory.free_bytes - taken : 0;
    return sizer;
  }

  Result<EngineDecisions> Decide() {
    QUIRE_RETURN_IF_ERROR(ChooseBytes());
    QUIRE_RETURN_IF_ERROR(ChooseLength());
    ChooseBlocks();
    KvCachePlan& plan = decisions_.plan;
    plan.block_size = config_.cache.block_size;
    plan.max_rows = config_.scheduler.max_num_batched_tokens;
    plan.max_requests = config_.scheduler.max_num_seqs;
    plan.prefault = config_.cache.prefault_kv_cache;
    if (!config_.scheduler.enable_chunked_prefill && plan.max_rows < plan.max_model_len) {
      return InvalidArgument(StrCat("max-num-batched-tokens: ", plan.max_rows,
                                    " is less than max-model-len ", plan.max_model_len,
                                    ", and chunked prefill is off"));
    }
    Explain();
    Summarize();
    return std::move(decisions_);
  }

 private:
  Sizer(const EngineConfig& config, const ModelFacts& facts, const MachineMemory& memory)
      : config_(config),
        facts_(facts),
        memory_(memory),
        block_bytes_(facts.kv_spec.block_bytes(config.cache.block_size, facts.kv_element)) {}

  std::string Room() const {
    return StrCat(HumanBytes(room_bytes_), " of ", HumanBytes(memory_.free_bytes), " free (",
                  memory_.source, ") are left beside ", HumanBytes(facts_.weight_bytes),
                  " of weights");
  }

  Status ChooseBytes() {
    const CacheOptions& cache = config_.cache;
    if (cache.num_gpu_blocks_override) {
      const auto blocks = static_cast<double>(*cache.num_gpu_blocks_override);
      if (blocks * static_cast<double>(block_bytes_) > static_cast<double>(room_bytes_)) {
        return InvalidArgument(StrCat("num-gpu-blocks-override: ", *cache.num_gpu_blocks_override,
                                      " blocks of ", block_bytes_, " bytes do not fit, ", Room()));
      }
      num_blocks_ = *cache.num_gpu_blocks_override;
      why_ = "num-gpu-blocks-override";
      return {};
    }
    std::uint64_t bytes = 0;
    if (cache.kv_cache_memory_bytes) {
      bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *cache.kv_cache_memory_bytes));
      if (bytes > room_bytes_) {
        return InvalidArgument(
            StrCat("kv-cache-memory-bytes: ", HumanBytes(bytes), " do not fit, ", Room()));
      }
      why_ = "kv-cache-memory-bytes";
    } else {
      bytes = static_cast<std::uint64_t>(static_cast<double>(room_bytes_) *
                                         cache.gpu_memory_utilization);
      why_ = StrCat("gpu-memory-utilization ", cache.gpu_memory_utilization, "; ", Room());
    }
    num_blocks_ = static_cast<std::int64_t>(bytes / static_cast<std::uint64_t>(block_bytes_));
    num_blocks_ = std::min<std::int64_t>(num_blocks_, std::numeric_limits<std::int32_t>::max());
    return {};
  }

  // Whether the pool holds one request of this length, beside the null block.
  bool Holds(std::int64_t num_tokens) const {
    return manager_->MaxBlocksPerRequest(num_tokens) + 1 <= num_blocks_;
  }

  std::int64_t LongestThatFits() const {
    std::int64_t low = 0;
    std::int64_t high = facts_.max_positions;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (Holds(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  Status ChooseLength() {
    QUIRE_ASSIGN_OR_RETURN(const MaxModelLen wish, ParseMaxModelLen(config_.model.max_model_len));
    std::int64_t length = facts_.max_positions;
    why_length_ = "the model's own";
    if (std::holds_alternative<LengthThatFits>(wish)) {
      length = LongestThatFits();
      if (length < facts_.max_positions) why_length_ = "as much as the KV cache holds";
    } else if (const std::int64_t* given = std::get_if<std::int64_t>(&wish)) {
      length = *given;
      why_length_ = "as asked";
    }
    if (length > facts_.max_positions) {
      return InvalidArgument(StrCat("max-model-len: ", length, " is more than the ",
                                    facts_.max_positions, " positions that the model declares"));
    }
    if (length < 1 || !Holds(length)) {
      return InvalidArgument(StrCat(
          "max-model-len: a request of ", std::max<std::int64_t>(length, 1), " tokens needs ",
          manager_->MaxBlocksPerRequest(std::max<std::int64_t>(length, 1)) + 1,
          " KV blocks, there are ", num_blocks_, " (", why_, "); the longest that fits is ",
          LongestThatFits(), ", which max-model-len auto takes"));
    }
    decisions_.plan.max_model_len = static_cast<std::int32_t>(length);
    return {};
  }

  void ChooseBlocks() {
    const std::int64_t most = manager_->MaxBlocksPerRequest(decisions_.plan.max_model_len) *
                                  config_.scheduler.max_num_seqs +
                              1;
    const bool is_asked =
        config_.cache.num_gpu_blocks_override || config_.cache.kv_cache_memory_bytes;
    if (!is_asked && num_blocks_ > most) {
      num_blocks_ = most;
      why_ =
          StrCat("as many as ", config_.scheduler.max_num_seqs, " requests of full length can use");
    }
    decisions_.plan.num_blocks = num_blocks_;
  }

  void Explain() {
    const KvCachePlan& plan = decisions_.plan;
    const std::int64_t bytes = plan.num_blocks * block_bytes_;
    const std::int64_t each = manager_->MaxBlocksPerRequest(plan.max_model_len);
    decisions_.reasons.push_back(
        StrCat("context: ", plan.max_model_len, " tokens (", why_length_, ")"));
    decisions_.reasons.push_back(StrCat("KV cache: ", plan.num_blocks, " blocks of ",
                                        plan.block_size, " tokens in ", facts_.kv_dtype,
                                        ", at most ", HumanBytes(static_cast<std::uint64_t>(bytes)),
                                        " (", why_, ")"));
    decisions_.reasons.push_back(StrCat(
        "concurrency: ", std::min<std::int64_t>((plan.num_blocks - 1) / each, plan.max_requests),
        " requests of full length at once, ", plan.max_requests, " shorter ones, ", plan.max_rows,
        " new tokens a step"));
  }

  // In vLLM's words, with the reason.
  void Summarize() {
    const KvCachePlan& plan = decisions_.plan;
    const std::int64_t num_usable = plan.num_blocks - 1;
    const auto each = static_cast<double>(manager_->MaxBlocksPerRequest(plan.max_model_len));
    decisions_.max_concurrency = static_cast<double>(num_usable) / each;
    char concurrency[32];
    std::snprintf(concurrency, sizeof concurrency, "%.2fx", decisions_.max_concurrency);
    decisions_.summary =
        StrCat("GPU KV cache size: ", num_usable * plan.block_size, " tokens (",
               HumanBytes(static_cast<std::uint64_t>(plan.num_blocks * block_bytes_)), " of ",
               facts_.kv_dtype, "; ", why_, "). Maximum concurrency for ", plan.max_model_len,
               " tokens per request: ", concurrency);
  }

  const EngineConfig& config_;
  const ModelFacts& facts_;
  const MachineMemory& memory_;
  std::unique_ptr<KvCacheManager> manager_;  // knows how many blocks a request holds
  std::int64_t block_bytes_;
  std::uint64_t room_bytes_ = 0;
  std::int64_t num_blocks_ = 0;
  std::string why_;
  std::string why_length_;
  EngineDecisions decisions_;
};

}  // namespace

Result<EngineDecisions> SizeEngine(const EngineConfig& config, const ModelFacts& facts,
                                   const MachineMemory& memory) {
  QUIRE_ASSIGN_OR_RETURN(Sizer sizer, Sizer::Create(config, facts, memory));
  return sizer.Decide();
}

}  // namespace quire
