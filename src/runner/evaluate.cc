// Logits of whole sequences, for perplexity and comparisons with references.
#include <algorithm>
#include <numeric>
#include <string>

#include "runner/runner_state.h"

namespace quire {
namespace {

// One sequence, alone in pages of its own: block i of every group is block i + 1 of the pool.
class LoneSequence {
 public:
  LoneSequence(std::span<const TokenId> ids, std::size_t num_groups, std::int32_t block_size)
      : ids_(ids), groups_(num_groups), block_size_(block_size) {
    const auto count = static_cast<std::int32_t>(ids.size());
    blocks_.resize(static_cast<std::size_t>((count + block_size - 1) / block_size));
    std::iota(blocks_.begin(), blocks_.end(), 1);
  }

  ForwardInput Rows(std::int32_t begin, std::int32_t end) {
    const auto count = static_cast<std::size_t>(end - begin);
    positions_.resize(count);
    std::iota(positions_.begin(), positions_.end(), begin);
    slots_.resize(count);
    for (std::size_t i = 0; i < count; ++i) slots_[i] = block_size_ + positions_[i];
    q_start_ = {0, end - begin};
    context_lens_ = {end};
    for (ops::AttentionBatch& group : groups_) {
      group = {.q_start = q_start_,
               .context_lens = context_lens_,
               .block_table = blocks_,
               .max_blocks = static_cast<std::int32_t>(blocks_.size()),
               .slots = slots_};
    }
    return {.token_ids = ids_.subspan(static_cast<std::size_t>(begin), count),
            .positions = positions_,
            .groups = groups_,
            .pages = {}};
  }

 private:
  std::span<const TokenId> ids_;
  std::vector<ops::AttentionBatch> groups_;
  std::int32_t block_size_;
  std::vector<std::int32_t> blocks_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> slots_;
  std::vector<std::int32_t> q_start_;
  std::vector<std::int32_t> context_lens_;
};

Status CheckIds(std::span<const TokenId> ids, const ModelFacts& facts, std::int32_t max_model_len) {
  if (ids.empty()) return InvalidArgument("ids: must not be empty");
  if (ids.size() > static_cast<std::size_t>(max_model_len)) {
    return InvalidArgument("ids: " + std::to_string(ids.size()) + " tokens, but max_model_len is " +
                           std::to_string(max_model_len));
  }
  for (const TokenId id : ids) {
    if (id < 0 || id >= facts.vocab_size) {
      return InvalidArgument("ids: " + std::to_string(id) + " is outside the vocabulary of " +
                             std::to_string(facts.vocab_size));
    }
  }
  return {};
}

}  // namespace

Status ModelRunner::EvaluateLogits(
    std::span<const TokenId> ids,
    const std::function<void(std::int64_t row, std::span<const float>)>& consume) {
  State& state = *state_;
  if (state.batch == nullptr) {
    return Status(Code::kFailedPrecondition, "KV cache: not set up before an evaluation");
  }
  QUIRE_RETURN_IF_ERROR(CheckIds(ids, state.facts, state.kv_plan.max_model_len));
  const std::int32_t block_size = state.kv_plan.block_size;
  const auto total = static_cast<std::int32_t>(ids.size());
  const std::int64_t num_blocks = (total + block_size - 1) / block_size + 1;
  if (state.evaluation_pages.num_blocks() < num_blocks) {
    QUIRE_ASSIGN_OR_RETURN(
        state.evaluation_pages,
        PagedKvCache::Allocate(state.facts.kv_spec, num_blocks, block_size, state.kv_dtype));
  }
  LoneSequence sequence(ids, state.facts.kv_spec.groups.size(), block_size);
  const auto vocab = static_cast<std::size_t>(state.facts.vocab_size);
  for (std::int32_t begin = 0; begin < total; begin += state.kv_plan.max_rows) {
    const std::int32_t end = std::min(total, begin + state.kv_plan.max_rows);
    ForwardInput input = sequence.Rows(begin, end);
    input.pages = state.evaluation_pages.layers();
    const ConstTensorView hidden = state.model->Forward(state.ctx, input);
    for (std::int32_t first = begin; first < end; first += state.max_logit_rows) {
      const std::int32_t last = std::min(end, first + state.max_logit_rows);
      state.hidden_rows.resize(static_cast<std::size_t>(last - first));
      std::iota(state.hidden_rows.begin(), state.hidden_rows.end(), first - begin);
      const TensorView rows = state.ComputeLogits(hidden, state.hidden_rows);
      for (std::int32_t row = first; row < last; ++row) {
        const float* values = rows.f32() + (row - first) * state.facts.vocab_size;
        consume(row, {values, vocab});
      }
    }
  }
  return {};
}

}  // namespace quire
