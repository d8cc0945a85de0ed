// Decides what each step computes: queues, token budget, KV blocks, preemption.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "base/thread_checker.h"
#include "config/engine_config.h"
#include "config/kv_cache_spec.h"
#include "kv/events.h"
#include "kv/kv_cache_manager.h"
#include "request/request.h"
#include "sched/plan_builder.h"
#include "sched/queue.h"
#include "sched/request_state.h"
#include "sched/stop_check.h"
#include "sched/token_constraint.h"
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
  KvEventSink* kv_events = nullptr;       // may be null; outlives the scheduler
  TokenConstraint* constraint = nullptr;  // of requests with a grammar; may be null, likewise
};

// A request's part of a step in which tokens are computed that its answer does not yet go on from:
// its prompt, or after a preemption what it had generated.
struct PrefillPart {
  RequestId id;
  std::int32_t num_tokens = 0;
};

struct SchedulerStats {
  static constexpr std::size_t kMaxGroups = 16;  // whose blocks are told apart

  std::int64_t num_running = 0;
  std::int64_t num_waiting = 0;
  std::int64_t num_set_aside = 0;  // of those, passed over because enough prompts are in prefill
  std::int64_t num_used_blocks = 0;
  std::int64_t num_total_blocks = 0;  // without the null block
  std::array<std::int64_t, kMaxGroups> num_used_by_group{};
  std::int64_t prefix_queries = 0;  // tokens looked up, at each request's first admission
  std::int64_t prefix_hits = 0;     // tokens found
  std::int64_t num_preemptions = 0;
  double kv_cache_usage() const {
    return num_total_blocks == 0
               ? 0.0
               : static_cast<double>(num_used_blocks) / static_cast<double>(num_total_blocks);
  }
};

enum class PauseMode {
  kKeep,     // running requests keep their blocks
  kPreempt,  // they give them back and are recomputed after Resume
};

// A bound on the requests that wait.
enum class WaitingBound {
  kRequests,  // max_waiting, or how many prompts may wait to be read before they come here
  kTokens,    // max_waiting_tokens
};

// One turn is Schedule, the executor's forward, Update. Requests end through Update (stop, length,
// error) or Abort. Engine thread only.
//
// There is no prefill and no decode: each request has tokens and computed tokens, and wants the
// difference. Running requests are served first, in the order of their ranks, then waiting ones;
// when blocks run out the last running request is preempted, gives up all its blocks and waits at
// the head of the queue. Under policy `priority` a waiting request goes before running ones of a
// lower priority and may preempt them.
//
// Invariants:
//   1. The pool can hold one request of max_model_len, so the first running one always goes on.
//   2. running_ is ordered by rank; requests from the one being scheduled on have no row yet, so
//      preempting the last one never takes back a row.
//   3. After Update a running request lacks one computed token (and its drafts), or is partial.
class Scheduler {
 public:
  // kInvalidArgument when the options contradict each other or the pool cannot hold one request of
  // max_model_len.
  static Result<std::unique_ptr<Scheduler>> Create(const SchedulerConfig& config);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Queues a request. kInvalidArgument when it can never run, kResourceExhausted when it meets a
  // bound.
  Status Add(EngineRequest request);

  // Which bound keeps Add from queueing the request now; nothing where none does. max_waiting
  // requests wait, or others wait and with it their prompts had more than max_waiting_tokens. So a
  // prompt that is longer than that alone may wait where no other does, and further answers to a
  // prompt may wait where the first one does.
  std::optional<WaitingBound> BoundMetBy(const EngineRequest& request) const;

  // Ends a request in whatever state it is; unknown ids are passed over. Its output, with
  // FinishReason::kAbort, comes with the next Update or TakeOutputs; its blocks are free then.
  void Abort(RequestId id);

  // Ends all requests with FinishReason::kError and `error`, also those of a plan that will not be
  // computed. Their outputs come with the next TakeOutputs.
  void FailAll(const Status& error);

  bool has_unfinished() const { return !states_.empty(); }

  // The next step, empty when nothing can run. The plan stays valid until the next call. Each plan
  // with rows is computed and its result given to Update before the next call.
  const StepPlan& Schedule();

  // Takes in what the step gave: appends tokens, checks stops (eos, stop ids, max_tokens,
  // max_model_len), frees finished requests' blocks, and returns one output a request that got
  // something. The span stays valid until the next call.
  std::span<const EngineCoreOutput> Update(const StepResult& result);

  // Of the last plan.
  std::span<const PrefillPart> prefills() const { return prefills_; }

  // Outputs that came about without a step (aborts of requests that were waiting).
  std::vector<EngineCoreOutput> TakeOutputs();

  // Forgets every cached prefix; false when blocks are in use and nothing was done.
  bool ResetPrefixCache();

  // All running requests give back their blocks and are computed again; only between turns.
  void PreemptAll();

  // From now on plans are empty; only between turns. Requests can still be added and aborted.
  void Pause(PauseMode mode);
  void Resume() { is_paused_ = false; }
  bool is_paused() const { return is_paused_; }

  SchedulerStats stats() const;

  // Dies when bookkeeping is inconsistent; between turns. Costs what all requests and blocks do.
  void CheckInvariants() const;

 private:
  Status CheckRoomToWait(const EngineRequest& request) const;
  enum class Admission { kAdmitted, kSetAside, kBlocked };

  Scheduler(const SchedulerConfig& config, std::unique_ptr<KvCacheManager> kv);

  // schedule.cc: one plan.
  void FillPlan();
  void ServeRunning(RequestState& state);
  bool AdmitNext();
  RequestState* NextCandidate() const;
  Admission TryAdmit(RequestState& state);
  bool MakePartialSlot(const RequestState& state);
  bool MakeBlocks(std::int32_t num_cached, std::int32_t num_new, RequestState& state);
  void InsertRunning(RequestState& state);
  void AddNewRequestData(const RequestState& state);
  void FillRow(std::int32_t num_new, RequestState& state, ScheduledRow& row);
  std::int32_t BoundedGrant(std::int32_t num_wanted) const;
  std::int64_t NumHeldByWorse(const RequestState& than) const;
  bool PreemptWorse(const RequestState& than);
  void Preempt(std::size_t running_idx);
  bool IsLong(const RequestState& state) const;
  void SetPartial(bool is_partial, RequestState& state);

  // update.cc: one result.
  void UpdateRow(const ScheduledRow& row, const RowResult* result, RequestState& state);
  void TakeTokens(const ScheduledRow& row, const RowResult& result, RequestState& state);
  void KeepDrafts(const RowResult& result, RequestState& state);
  Status CauseOf(const Status& error, const RequestState& state) const;
  void CheckConstraint(const RequestState& state, std::optional<Stop>& stop) const;
  void FailRow(const ScheduledRow& row, const Status& error, RequestState& state);
  EngineCoreOutput& AddOutput(const RequestState& state);
  EngineCoreOutput& AddPending(const RequestState& state);
  void End(RequestState& state);
  void Unconstrain(const RequestState& state);
  void ForgetEnded();

  // Constant after construction.
  const SchedulerConfig config_;

  std::unique_ptr<KvCacheManager> kv_;
  std::unordered_map<RequestId, std::unique_ptr<RequestState>> states_;
  WaitingQueue waiting_;
  std::vector<RequestState*> running_;
  PlanBuilder builder_;
  std::vector<RequestState*> scheduled_;  // the requests of the plan's rows, until Update
  std::vector<PrefillPart> prefills_;     // of the plan
  std::int32_t num_partial_ = 0;          // running requests in the middle of their prefill
  std::int32_t num_long_partial_ = 0;     // of those, longer than the threshold
  bool is_paused_ = false;

  // Of the plan being filled.
  std::int32_t budget_ = 0;      // tokens left
  std::size_t running_idx_ = 0;  // of the next running request to serve
  WaitingQueue::iterator candidate_;
  std::int32_t num_set_aside_ = 0;
  bool is_admission_over_ = false;
  bool has_preempted_ = false;

  std::vector<EngineCoreOutput> outputs_;  // reused; the first num_outputs_ are the last Update's
  std::size_t num_outputs_ = 0;
  std::vector<EngineCoreOutput> pending_;  // came about without a step
  std::vector<RequestId> ended_;           // in this Update
  SchedulerStats counters_;                // the three that only grow
  ThreadChecker thread_;
};

}  // namespace quire
