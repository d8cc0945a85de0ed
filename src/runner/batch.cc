#include "runner/batch.h"

#include <algorithm>
#include <bit>
#include <string>

namespace quire {
namespace {

// Block ids as the attention kernels read them.
std::span<const std::int32_t> AsIntegers(const std::vector<BlockId>& blocks) {
  static_assert(sizeof(BlockId) == sizeof(std::int32_t));
  return {reinterpret_cast<const std::int32_t*>(blocks.data()), blocks.size()};
}

std::string Name(RequestId id) { return "request " + std::to_string(id.value()); }

// The most tokens that the request can come to hold.
std::size_t MostTokens(const NewRequestData& data, std::int32_t max_model_len) {
  const std::size_t room = static_cast<std::size_t>(max_model_len) + 1;
  if (!data.sampling.max_tokens) return room;
  const auto wanted = static_cast<std::size_t>(data.num_prompt_tokens) +
                      static_cast<std::size_t>(std::max(0, *data.sampling.max_tokens));
  return std::min(room, wanted);
}

}  // namespace

Batch::Batch(const BatchLimits& limits)
    : limits_(limits),
      block_shift_(std::countr_zero(static_cast<unsigned>(limits.block_size))),
      token_ids_(static_cast<std::size_t>(limits.max_rows)),
      positions_(static_cast<std::size_t>(limits.max_rows)),
      q_start_(static_cast<std::size_t>(limits.max_requests) + 1),
      context_lens_(static_cast<std::size_t>(limits.max_requests)),
      slots_(static_cast<std::size_t>(limits.num_groups)),
      attention_(static_cast<std::size_t>(limits.num_groups)) {
  places_.reserve(static_cast<std::size_t>(limits.max_requests));
  row_owners_.resize(static_cast<std::size_t>(limits.max_requests));
  by_id_.reserve(static_cast<std::size_t>(limits.max_requests));
  for (auto& slots : slots_) slots.resize(static_cast<std::size_t>(limits.max_rows));
}

Result<std::unique_ptr<Batch>> Batch::Create(const BatchLimits& limits) {
  std::unique_ptr<Batch> batch(new Batch(limits));
  QUIRE_RETURN_IF_ERROR(batch->AllocateTables());
  return batch;
}

Status Batch::AllocateTables() {
  const std::int32_t max_blocks =
      (limits_.max_model_len + limits_.block_size - 1) / limits_.block_size;
  for (std::int32_t group = 0; group < limits_.num_groups; ++group) {
    QUIRE_ASSIGN_OR_RETURN(BatchBlockTable table,
                           BatchBlockTable::Allocate(limits_.max_requests, max_blocks));
    tables_.push_back(std::move(table));
  }
  return {};
}

Status Batch::Apply(const StepPlan& plan) {
  for (const RequestId id : plan.finished) Forget(id);
  for (const NewRequestData& data : plan.new_requests) QUIRE_RETURN_IF_ERROR(Admit(data));
  if (plan.rows.size() > static_cast<std::size_t>(limits_.max_requests)) {
    return Internal("step plan: " + std::to_string(plan.rows.size()) + " requests, at most " +
                    std::to_string(limits_.max_requests) + " fit");
  }
  num_rows_ = 0;
  places_.clear();
  q_start_[0] = 0;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    QUIRE_RETURN_IF_ERROR(SetPlace(i, plan.rows[i]));
  }
  Seal();
  return {};
}

void Batch::Forget(RequestId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  found->second->row_idx = -1;
  free_states_.push_back(found->second);
  by_id_.erase(found);
}

Status Batch::CheckTokens(std::span<const TokenId> tokens) const {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= limits_.vocab_size) {
      return Internal("step plan: token " + std::to_string(token) + " is outside the vocabulary");
    }
  }
  return {};
}

Status Batch::CheckBlocks(const GroupBlocks& blocks) const {
  if (blocks.size() != tables_.size()) {
    return Internal("step plan: blocks of " + std::to_string(blocks.size()) +
                    " KV groups, the model has " + std::to_string(tables_.size()));
  }
  for (const auto& list : blocks) {
    for (const BlockId block : list) {
      if (block.value() < 0 || block.value() >= limits_.num_blocks) {
        return Internal("step plan: no block " + std::to_string(block.value()));
      }
    }
  }
  return {};
}

Status Batch::Admit(const NewRequestData& data) {
  QUIRE_RETURN_IF_ERROR(CheckTokens(data.tokens).With(Name(data.id)));
  QUIRE_RETURN_IF_ERROR(CheckBlocks(data.blocks).With(Name(data.id)));
  if (data.num_prompt_tokens < 1 ||
      static_cast<std::size_t>(data.num_prompt_tokens) > data.tokens.size()) {
    return Internal(Name(data.id) + ": prompt length " + std::to_string(data.num_prompt_tokens) +
                    " of " + std::to_string(data.tokens.size()) + " tokens");
  }
  Forget(data.id);  // a preempted request comes back under its old name
  if (free_states_.empty()) {
    states_.push_back(std::make_unique<BatchedRequest>());
    free_states_.reserve(states_.size());
    free_states_.push_back(states_.back().get());
  }
  BatchedRequest& state = *free_states_.back();
  free_states_.pop_back();
  state.id = data.id;
  state.tokens.reserve(std::max(data.tokens.size() + 1, MostTokens(data, limits_.max_model_len)));
  state.tokens.assign(data.tokens.begin(), data.tokens.end());
  state.num_prompt_tokens = data.num_prompt_tokens;
  state.sampling = data.sampling;
  state.eos_token_ids = data.eos_token_ids;
  state.seed = data.seed;
  state.blocks.resize(tables_.size());
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const auto blocks = AsIntegers(data.blocks[group]);
    state.blocks[group].reserve(static_cast<std::size_t>(tables_[group].max_blocks()));
    state.blocks[group].assign(blocks.begin(), blocks.end());
  }
  by_id_.emplace(data.id, &state);
  return {};
}

Status Batch::SetPlace(std::size_t row_idx, const ScheduledRow& row) {
  BatchedRequest* state = row_owners_[row_idx];
  const auto table_row = static_cast<std::int64_t>(row_idx);
  const bool is_current = state != nullptr && state->row_idx == table_row && state->id == row.id;
  if (!is_current) {
    const auto found = by_id_.find(row.id);
    if (found == by_id_.end()) return Internal("step plan: " + Name(row.id) + " is not known");
    state = found->second;
  }
  QUIRE_RETURN_IF_ERROR(AppendBlocks(row_idx, *state, row.new_blocks));
  if (!is_current) {
    for (std::size_t group = 0; group < tables_.size(); ++group) {
      tables_[group].Assign(static_cast<std::int32_t>(row_idx), state->blocks[group]);
    }
    state->row_idx = table_row;
    row_owners_[row_idx] = state;
  }
  places_.push_back(state);
  QUIRE_RETURN_IF_ERROR(CheckRow(row, *state));
  FillRows(row, *state);
  return {};
}

Status Batch::AppendBlocks(std::size_t row_idx, BatchedRequest& state, const GroupBlocks& blocks) {
  if (blocks.empty()) return {};
  QUIRE_RETURN_IF_ERROR(CheckBlocks(blocks).With(Name(state.id)));
  for (std::size_t group = 0; group < blocks.size(); ++group) {
    const auto added = AsIntegers(blocks[group]);
    std::vector<std::int32_t>& list = state.blocks[group];
    const std::size_t start = list.size();
    if (start + added.size() > static_cast<std::size_t>(tables_[group].max_blocks())) {
      return Internal(Name(state.id) + ": more blocks than a context of " +
                      std::to_string(limits_.max_model_len) + " tokens has");
    }
    list.insert(list.end(), added.begin(), added.end());
    tables_[group].Append(static_cast<std::int32_t>(row_idx), start, added);
  }
  return {};
}

Status Batch::CheckRow(const ScheduledRow& row, const BatchedRequest& state) const {
  const std::int64_t context = std::int64_t{row.num_computed_tokens} + row.num_new_tokens;
  const std::int64_t known = static_cast<std::int64_t>(state.tokens.size());
  const auto drafts = static_cast<std::int64_t>(row.draft_tokens.size());
  if (row.num_new_tokens < 1 || row.num_computed_tokens < 0 || context > known + drafts ||
      context > limits_.max_model_len ||
      ((row.samples || drafts > 0) &&
       (context != known + drafts || row.num_new_tokens <= drafts))) {
    return Internal(Name(row.id) + ": cannot compute " + std::to_string(row.num_new_tokens) +
                    " tokens after " + std::to_string(row.num_computed_tokens) + " of " +
                    std::to_string(known) + " with " + std::to_string(drafts) + " drafts");
  }
  if (static_cast<std::int64_t>(num_rows_) + row.num_new_tokens > limits_.max_rows) {
    return Internal("step plan: more than " + std::to_string(limits_.max_rows) + " tokens");
  }
  for (const auto& blocks : state.blocks) {
    if (static_cast<std::int64_t>(blocks.size()) * limits_.block_size < context) {
      return Internal(Name(row.id) + ": " + std::to_string(blocks.size()) + " blocks hold no " +
                      std::to_string(context) + " tokens");
    }
  }
  return CheckTokens(row.draft_tokens);
}

void Batch::FillRows(const ScheduledRow& row, const BatchedRequest& state) {
  const std::size_t request_idx = places_.size() - 1;
  const auto known = static_cast<std::int32_t>(state.tokens.size());
  const std::int32_t mask = limits_.block_size - 1;
  for (std::int32_t i = 0; i < row.num_new_tokens; ++i) {
    const std::int32_t position = row.num_computed_tokens + i;
    const std::size_t at = num_rows_ + static_cast<std::size_t>(i);
    token_ids_[at] = position < known
                         ? state.tokens[static_cast<std::size_t>(position)]
                         : row.draft_tokens[static_cast<std::size_t>(position - known)];
    positions_[at] = position;
    for (std::size_t group = 0; group < slots_.size(); ++group) {
      const auto block_idx = static_cast<std::size_t>(position >> block_shift_);
      slots_[group][at] = (state.blocks[group][block_idx] << block_shift_) + (position & mask);
    }
  }
  num_rows_ += static_cast<std::size_t>(row.num_new_tokens);
  q_start_[request_idx + 1] = static_cast<std::int32_t>(num_rows_);
  context_lens_[request_idx] = row.num_computed_tokens + row.num_new_tokens;
}

void Batch::Seal() {
  const std::size_t num_requests = places_.size();
  for (std::size_t group = 0; group < tables_.size(); ++group) {
    const std::int32_t max_blocks = tables_[group].max_blocks();
    attention_[group] = {
        .q_start = {q_start_.data(), num_requests + 1},
        .context_lens = {context_lens_.data(), num_requests},
        .block_table =
            tables_[group].values().first(num_requests * static_cast<std::size_t>(max_blocks)),
        .max_blocks = max_blocks,
        .slots = {slots_[group].data(), num_rows_},
    };
  }
}

void PrepareResult(const StepPlan& plan, StepResult& out) {
  out.step_id = plan.step_id;
  out.rows.resize(plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    RowResult& row = out.rows[i];
    row.id = plan.rows[i].id;
    row.tokens.clear();
    row.logprobs.clear();
    row.prompt_logprobs.clear();
    row.draft_tokens.clear();
    row.error = Status();
  }
}

}  // namespace quire
