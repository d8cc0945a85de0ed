#include "exec/null_executor.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

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
  block_size_ = plan.block_size;
  known_.reserve(static_cast<std::size_t>(plan.max_requests));
  return {};
}

Status NullExecutor::Execute(const StepPlan& plan, StepResult& out) {
  for (const RequestId id : plan.finished) known_.erase(id);
  for (const NewRequestData& data : plan.new_requests) Admit(data);
  out.step_id = plan.step_id;
  out.rows.resize(plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    QUIRE_RETURN_IF_ERROR(Run(plan.rows[i], out.rows[i]));
  }
  return {};
}

void NullExecutor::Admit(const NewRequestData& data) {
  known_[data.id] = {
      .num_prompt_tokens = data.num_prompt_tokens,
      .num_tokens = static_cast<std::int32_t>(data.tokens.size()),
      .num_blocks = data.blocks.empty() ? 0 : static_cast<std::int32_t>(data.blocks.front().size()),
      .has_logprobs = data.sampling.logprobs.has_value(),
      .has_prompt_logprobs = data.sampling.prompt_logprobs.has_value()};
}

Status NullExecutor::Run(const ScheduledRow& row, RowResult& result) {
  result.id = row.id;
  result.tokens.clear();
  result.logprobs.clear();
  result.prompt_logprobs.clear();
  result.draft_tokens.clear();
  const auto found = known_.find(row.id);
  if (found == known_.end()) {
    return Internal(StrCat("step plan: request ", row.id.value(), " is not known"));
  }
  Known& known = found->second;
  if (!row.new_blocks.empty()) {
    known.num_blocks += static_cast<std::int32_t>(row.new_blocks.front().size());
  }
  const std::int32_t context = row.num_computed_tokens + row.num_new_tokens;
  const auto drafts = static_cast<std::int32_t>(row.draft_tokens.size());
  if (row.num_new_tokens < 1 || context > known.num_tokens + drafts ||
      context > known.num_blocks * block_size_ ||
      (row.samples && context != known.num_tokens + drafts)) {
    return Internal(StrCat("step plan: request ", row.id.value(), " has ", known.num_tokens,
                           " tokens and ", known.num_blocks, " blocks, cannot compute up to ",
                           context));
  }
  if (known.has_prompt_logprobs) {
    const std::int32_t end = std::min(context, known.num_prompt_tokens - 1);
    for (std::int32_t i = row.num_computed_tokens; i < end; ++i) {
      result.prompt_logprobs.push_back(Certain(0));
    }
  }
  if (row.samples) Sample(row, known, result);
  return {};
}

void NullExecutor::Sample(const ScheduledRow& row, Known& known, RowResult& result) {
  for (std::size_t i = 0; i <= row.draft_tokens.size(); ++i) {
    const TokenId token = script_(row.id, known.num_tokens - known.num_prompt_tokens);
    ++known.num_tokens;
    result.tokens.push_back(token);
    if (known.has_logprobs) result.logprobs.push_back(Certain(token));
    if (i < row.draft_tokens.size() && row.draft_tokens[i] != token) break;
  }
}

}  // namespace quire
