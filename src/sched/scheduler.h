// Decides what each step computes: queues, token budget, KV blocks, preemption.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "config/kv_cache_spec.h"
#include "request/request.h"
#include "step/plan.h"
#include "step/result.h"

namespace quire {

// Everything the scheduler must know before its first step; nothing is derived again later.
struct SchedulerConfig {
  SchedulerOptions options;
  KvCacheSpec kv_spec;
  std::int64_t num_blocks = 0;  // the null block included
  std::int32_t block_size = 16;
  std::int32_t max_model_len = 0;
  bool enable_prefix_caching = true;
  PrefixHashAlgo prefix_hash_algo = PrefixHashAlgo::kSha256;
};

struct SchedulerStats {
  std::int64_t num_running = 0;
  std::int64_t num_waiting = 0;
  std::int64_t num_used_blocks = 0;
  std::int64_t num_total_blocks = 0;  // without the null block
  std::int64_t prefix_queries = 0;    // tokens looked up
  std::int64_t prefix_hits = 0;       // tokens found
  std::int64_t num_preemptions = 0;
  double kv_cache_usage() const {
    return num_total_blocks == 0
               ? 0.0
               : static_cast<double>(num_used_blocks) / static_cast<double>(num_total_blocks);
  }
};

// One turn is Schedule, the executor's forward, Update. Requests end through Update (stop, length,
// error) or Abort. Engine thread only.
class Scheduler {
 public:
  // kInvalidArgument when the options contradict each other or the pool cannot hold one request of
  // max_model_len.
  static Result<std::unique_ptr<Scheduler>> Create(const SchedulerConfig& config);
  virtual ~Scheduler() = default;

  // Queues a request. kInvalidArgument when it can never run, kResourceExhausted when max_waiting
  // requests wait.
  virtual Status Add(EngineRequest request) = 0;

  // Ends a request in whatever state it is and frees its blocks; unknown ids are passed over. Its
  // output, with FinishReason::kAbort, comes with the next Update or TakeOutputs.
  virtual void Abort(RequestId id) = 0;

  bool has_unfinished() const { return has_unfinished_requests(); }

  // The next step, empty when nothing can run. The plan stays valid until the next call.
  virtual const StepPlan& Schedule() = 0;

  // Takes in what the step gave: appends tokens, checks stops (eos, stop ids, max_tokens,
  // max_model_len), frees finished requests' blocks, and returns one output a request that got
  // something. The span stays valid until the next call.
  virtual std::span<const EngineCoreOutput> Update(const StepResult& result) = 0;

  // Outputs that came about without a step (aborts of requests that were waiting).
  virtual std::vector<EngineCoreOutput> TakeOutputs() = 0;

  // Forgets every cached prefix; false when blocks are in use and nothing was done.
  virtual bool ResetPrefixCache() = 0;

  virtual SchedulerStats stats() const = 0;

 private:
  virtual bool has_unfinished_requests() const = 0;
};

}  // namespace quire
