#include "exec/null_executor.h"

#include <algorithm>
#include <utility>

namespace quire {
namespace {

PositionLogprobs Certain(TokenId token) {
  return {.entries = {{.token = token, .logprob = 0.0F, .rank = 1}}};
}

}  // namespace

ModelFacts NullExecutor::SmallFacts(std::int64_t vocab_size, std::int64_t max_positions) {
  ModelFacts facts;
  facts.path = "null";
  facts.architecture = "Null";
  facts.vocab_size = vocab_size;
  facts.max_positions = max_positions;
  facts.kv_spec = {.groups = {{.kind = AttentionKind::kFull, .window = 0, .layers = {0}}},
                   .num_kv_heads = 1,
                   .key_head_dim = 1,
                   .value_head_dim = 1};
  facts.kv_dtype = "float32";
  facts.num_threads = 1;
  facts.isa = "none";
  return facts;
}

NullExecutor::NullExecutor(ModelFacts facts, Script script)
    : facts_(std::move(facts)), script_(std::move(script)) {}

Status NullExecutor::InitKvCache(const KvCachePlan& plan) {
  QUIRE_ASSIGN_OR_RETURN(
      batch_, Batch::Create({.num_groups = static_cast<std::int32_t>(facts_.kv_spec.groups.size()),
                             .block_size = plan.block_size,
                             .num_blocks = plan.num_blocks,
                             .max_model_len = plan.max_model_len,
                             .max_rows = plan.max_rows,
                             .max_requests = plan.max_requests,
                             .vocab_size = facts_.vocab_size}));
  plan_ = plan;
  return {};
}

Status NullExecutor::Execute(const StepPlan& plan, StepResult& out) {
  QUIRE_RETURN_IF_ERROR(batch_->Apply(plan));
  PrepareResult(plan, out);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const ScheduledRow& row = plan.rows[i];
    BatchedRequest& request = batch_->request(i);
    if (request.sampling.prompt_logprobs) Score(row, request, out.rows[i]);
    if (row.samples) Sample(row, request, out.rows[i]);
  }
  return {};
}

void NullExecutor::Score(const ScheduledRow& row, const BatchedRequest& request,
                         RowResult& result) const {
  const std::int32_t end =
      std::min(row.num_computed_tokens + row.num_new_tokens, request.num_prompt_tokens - 1);
  for (std::int32_t i = row.num_computed_tokens; i < end; ++i) {
    result.prompt_logprobs.push_back(Certain(request.tokens[static_cast<std::size_t>(i) + 1]));
  }
}

void NullExecutor::Sample(const ScheduledRow& row, BatchedRequest& request,
                          RowResult& result) const {
  for (std::size_t i = 0; i <= row.draft_tokens.size(); ++i) {
    const auto output_idx =
        static_cast<std::int32_t>(request.tokens.size()) - request.num_prompt_tokens;
    const TokenId token = script_(row.id, output_idx);
    request.tokens.push_back(token);
    result.tokens.push_back(token);
    if (request.sampling.logprobs) result.logprobs.push_back(Certain(token));
    if (i < row.draft_tokens.size() && row.draft_tokens[i] != token) break;
  }
}

}  // namespace quire
