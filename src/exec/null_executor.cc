#include "exec/null_executor.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>

namespace quire {
namespace {

PositionLogprobs Certain(TokenId token) {
  return {.entries = {{.token = token, .logprob = 0.0F, .rank = 1}}};
}

// `token`, or the lowest allowed one where draft `draft` of the row may not have it; `token` again
// where nothing is allowed.
TokenId Allowed(const StepMasks& masks, const ScheduledRow& row, std::size_t draft,
                std::int64_t vocab_size, TokenId token) {
  const auto num_words = static_cast<std::size_t>((vocab_size + 31) / 32);
  const std::size_t begin = (static_cast<std::size_t>(row.grammar_row) + draft) * num_words;
  if (row.grammar_row < 0 || begin + num_words > masks.words.size()) return token;
  const std::span mask = std::span(masks.words).subspan(begin, num_words);
  const auto place = static_cast<std::size_t>(token);
  if ((mask[place / 32] >> (place % 32) & 1U) != 0) return token;
  for (std::size_t word = 0; word < num_words; ++word) {
    if (mask[word] == 0) continue;
    return static_cast<TokenId>(word * 32 + static_cast<std::size_t>(std::countr_zero(mask[word])));
  }
  return token;
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

NullExecutor::NullExecutor(ModelFacts facts, Script script, std::chrono::nanoseconds forward_time)
    : facts_(std::move(facts)), script_(std::move(script)), forward_time_(forward_time) {}

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

Status NullExecutor::Begin(const StepPlan& plan) {
  if (computes_aside()) is_done_at_ = std::chrono::steady_clock::now() + forward_time_;
  return batch_->Apply(plan);
}

Status NullExecutor::Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) {
  if (computes_aside()) std::this_thread::sleep_until(is_done_at_);
  PrepareResult(plan, out);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const ScheduledRow& row = plan.rows[i];
    BatchedRequest& request = batch_->request(i);
    if (request.sampling.prompt_logprobs) Score(row, request, out.rows[i]);
    if (row.samples) Sample(masks, row, request, out.rows[i]);
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

void NullExecutor::Sample(const StepMasks& masks, const ScheduledRow& row, BatchedRequest& request,
                          RowResult& result) const {
  for (std::size_t i = 0; i <= row.draft_tokens.size(); ++i) {
    const auto output_idx =
        static_cast<std::int32_t>(request.tokens.size()) - request.num_prompt_tokens;
    const TokenId said = Allowed(masks, row, i, facts_.vocab_size, script_(row.id, output_idx));
    const TokenId token = row.forced_token >= 0 ? row.forced_token : said;
    request.tokens.push_back(token);
    result.tokens.push_back(token);
    if (request.sampling.logprobs) result.logprobs.push_back(Certain(token));
    if (i < row.draft_tokens.size() && row.draft_tokens[i] != token) break;
  }
}

}  // namespace quire
