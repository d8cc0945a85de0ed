// The persistent batch: what a worker remembers of its requests, and a step's input built from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "ops/attention.h"
#include "request/sampling_params.h"
#include "runner/batch_block_table.h"
#include "step/plan.h"
#include "step/result.h"

namespace quire {

struct BatchLimits {
  std::int32_t num_groups = 1;
  std::int32_t block_size = 16;
  std::int64_t num_blocks = 0;
  std::int32_t max_model_len = 0;
  std::int32_t max_rows = 0;
  std::int32_t max_requests = 0;
  std::int64_t vocab_size = 0;
};

// One request as its worker knows it. Objects are used again after a request has gone, so that a
// later one finds their memory.
struct BatchedRequest {
  RequestId id;
  std::int64_t row_idx = -1;    // of the block tables, where its blocks are up to date
  std::vector<TokenId> tokens;  // the prompt and what was generated
  std::int32_t num_prompt_tokens = 0;
  SamplingParams sampling;
  std::vector<TokenId> eos_token_ids;
  std::uint64_t seed = 0;
  std::vector<std::vector<std::int32_t>> blocks;  // one list a KV group
};

// Edited by what a plan says has changed. The place of a request in the batch is its row in the
// plan, and its block table is written again only when it comes to another place. One thread.
//
// A plan that contradicts what the batch knows (unknown ids, blocks that do not cover the tokens)
// is refused with kInternal, because plans can come from another process.
class Batch {
 public:
  static Result<std::unique_ptr<Batch>> Create(const BatchLimits& limits);

  // Takes in the plan: forgets finished requests, admits new ones, appends blocks, and builds the
  // arrays below. Allocates nothing for a step that only goes on with known requests.
  Status Apply(const StepPlan& plan);

  // The step's rows, all requests in the plan's order.
  std::span<const TokenId> token_ids() const { return {token_ids_.data(), num_rows_}; }
  std::span<const std::int32_t> positions() const { return {positions_.data(), num_rows_}; }
  std::span<const std::int32_t> q_start() const { return {q_start_.data(), places_.size() + 1}; }
  // One a KV group.
  std::span<const ops::AttentionBatch> attention() const { return attention_; }

  // The request of the plan's row `row_idx`.
  BatchedRequest& request(std::size_t row_idx) { return *places_[row_idx]; }

  std::size_t num_requests() const { return by_id_.size(); }  // known ones

 private:
  explicit Batch(const BatchLimits& limits);
  Status AllocateTables();
  void Forget(RequestId id);
  Status Admit(const NewRequestData& data);
  Status CheckBlocks(const GroupBlocks& blocks) const;
  Status CheckTokens(std::span<const TokenId> tokens) const;
  Status SetPlace(std::size_t row_idx, const ScheduledRow& row);
  Status AppendBlocks(std::size_t row_idx, BatchedRequest& state, const GroupBlocks& blocks);
  Status CheckRow(const ScheduledRow& row, const BatchedRequest& state) const;
  void FillRows(const ScheduledRow& row, const BatchedRequest& state);
  void Seal();

  BatchLimits limits_;
  int block_shift_;
  std::unordered_map<RequestId, BatchedRequest*> by_id_;
  std::vector<std::unique_ptr<BatchedRequest>> states_;  // all that were ever needed at once
  std::vector<BatchedRequest*> free_states_;
  std::vector<BatchedRequest*> places_;      // of this step
  std::vector<BatchedRequest*> row_owners_;  // who last had each row of the block tables
  std::vector<BatchBlockTable> tables_;      // one a KV group
  std::vector<TokenId> token_ids_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> q_start_;
  std::vector<std::int32_t> context_lens_;
  std::vector<std::vector<std::int32_t>> slots_;  // one list a KV group
  std::vector<ops::AttentionBatch> attention_;
  std::size_t num_rows_ = 0;
};

// Makes `out` hold one empty row for each of the plan's, using its memory again.
void PrepareResult(const StepPlan& plan, StepResult& out);

}  // namespace quire
