#include "runner/model_runner.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "runner/runner_state.h"

namespace quire {
namespace {

// Rows of logits that are held at once when prompts are scored or evaluated.
constexpr std::int32_t kMinLogitRows = 32;

}  // namespace

ModelRunner::ModelRunner(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelRunner::~ModelRunner() = default;

const ModelFacts& ModelRunner::facts() const { return state_->facts; }

Status ModelRunner::InitKvCache(const KvCachePlan& plan) {
  State& state = *state_;
  if (plan.max_rows < 1 || plan.max_requests < 1 || plan.num_blocks < 2 || plan.max_model_len < 1) {
    return InvalidArgument("KV cache: rows, requests, blocks and length must be positive");
  }
  QUIRE_RETURN_IF_ERROR(state.model->Reserve(plan.max_rows, plan.max_model_len));
  QUIRE_ASSIGN_OR_RETURN(state.pages, PagedKvCache::Allocate(state.facts.kv_spec, plan.num_blocks,
                                                             plan.block_size, state.kv_dtype));
  if (plan.prefault) state.pages.Prefault(*state.pool);
  QUIRE_ASSIGN_OR_RETURN(
      state.batch,
      Batch::Create({.num_groups = static_cast<std::int32_t>(state.facts.kv_spec.groups.size()),
                     .block_size = plan.block_size,
                     .num_blocks = plan.num_blocks,
                     .max_model_len = plan.max_model_len,
                     .max_rows = plan.max_rows,
                     .max_requests = plan.max_requests,
                     .vocab_size = state.facts.vocab_size}));
  state.kv_plan = plan;
  state.wanted_rows.reserve(static_cast<std::size_t>(plan.max_rows));
  return state.AllocateLogits(std::min(plan.max_rows, std::max(plan.max_requests, kMinLogitRows)));
}

Status ModelRunner::Reset() {
  State& state = *state_;
  if (state.batch == nullptr) {
    return Status(Code::kFailedPrecondition, "KV cache: not set up before it is reset");
  }
  state.pages = PagedKvCache();  // first, so that two never stand in memory at once
  state.batch.reset();
  return InitKvCache(state.kv_plan);
}

Status ModelRunner::Begin(const StepPlan& plan) {
  State& state = *state_;
  if (state.batch == nullptr) {
    return Status(Code::kFailedPrecondition, "KV cache: not set up before the first step");
  }
  QUIRE_RETURN_IF_ERROR(state.batch->Apply(plan));
  if (plan.rows.empty()) return {};
  state.ListWantedRows(plan);
  state.hidden = state.model->Forward(state.ctx, {.token_ids = state.batch->token_ids(),
                                                  .positions = state.batch->positions(),
                                                  .groups = state.batch->attention(),
                                                  .pages = state.pages.layers(),
                                                  .wanted_rows = state.wanted_rows});
  return {};
}

Status ModelRunner::Finish(const StepPlan& plan, const StepMasks& masks, StepResult& out) {
  PrepareResult(plan, out);
  if (plan.rows.empty()) return {};
  state_->ScorePrompts(plan, out);
  return state_->SampleRows(plan, masks, out);
}

Status ModelRunner::State::AllocateLogits(std::int32_t max_rows) {
  max_logit_rows = max_rows;
  const auto rows = static_cast<std::size_t>(max_rows);
  const auto vocab = static_cast<std::size_t>(facts.vocab_size);
  const auto width = static_cast<std::size_t>(model->config().hidden_size);
  QUIRE_ASSIGN_OR_RETURN(logits, Buffer::Allocate(rows * vocab * sizeof(float)));
  QUIRE_ASSIGN_OR_RETURN(gathered, Buffer::Allocate(rows * width * sizeof(float)));
  sampling_rows.reserve(rows);
  hidden_rows.reserve(rows);
  sources.reserve(rows);
  return {};
}

void ModelRunner::State::ListWantedRows(const StepPlan& plan) {
  wanted_rows.clear();
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const ScheduledRow& row = plan.rows[i];
    const std::int32_t end = batch->q_start()[i + 1];
    std::int32_t first = end;
    if (row.samples) first = end - 1 - static_cast<std::int32_t>(row.draft_tokens.size());
    if (batch->request(i).sampling.prompt_logprobs) first = batch->q_start()[i];
    for (std::int32_t r = first; r < end; ++r) wanted_rows.push_back(r);
  }
}

TensorView ModelRunner::State::ComputeLogits(ConstTensorView rows_of,
                                             std::span<const std::int32_t> rows) {
  const std::int64_t width = rows_of.dim(1);
  const auto count = static_cast<std::int64_t>(rows.size());
  const bool is_run = rows.back() - rows.front() == static_cast<std::int32_t>(count) - 1;
  ConstTensorView chosen;
  if (is_run) {  // rows rise, so these lie side by side
    chosen = F32View(rows_of.f32() + rows.front() * width, {count, width});
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(gathered.f32() + i * width,
                  rows_of.f32() + rows[static_cast<std::size_t>(i)] * width,
                  static_cast<std::size_t>(width) * sizeof(float));
    }
    chosen = F32View(static_cast<const float*>(gathered.f32()), {count, width});
  }
  const TensorView out = F32View(logits.f32(), {count, facts.vocab_size});
  model->Logits(ctx, chosen, out);
  return out;
}

// Samples

Status ModelRunner::State::SampleRows(const StepPlan& plan, const StepMasks& masks,
                                      StepResult& out) {
  std::size_t next = 0;
  while (next < plan.rows.size()) {
    sampling_rows.clear();
    hidden_rows.clear();
    sources.clear();
    QUIRE_ASSIGN_OR_RETURN(next, GatherSamplingRows(plan, masks, next));
    if (hidden_rows.empty()) break;
    const TensorView rows = ComputeLogits(hidden, hidden_rows);
    sampler->Sample(ctx, rows, sampling_rows, sampled);
    TakeSamples(plan, out);
  }
  return {};
}

Result<std::size_t> ModelRunner::State::GatherSamplingRows(const StepPlan& plan,
                                                           const StepMasks& masks,
                                                           std::size_t first) {
  const auto capacity = static_cast<std::size_t>(max_logit_rows);
  std::size_t i = first;
  for (; i < plan.rows.size(); ++i) {
    const ScheduledRow& row = plan.rows[i];
    if (!row.samples) continue;
    const std::size_t num_drafts = row.draft_tokens.size();
    if (num_drafts >= capacity) {
      return Internal("step plan: " + std::to_string(num_drafts) + " drafts of one request");
    }
    if (hidden_rows.size() + num_drafts + 1 > capacity) break;
    BatchedRequest& request = batch->request(i);
    const std::size_t known = request.tokens.size();
    // Drafts stand behind the tokens while they are judged; TakeSamples removes the refused ones.
    request.tokens.insert(request.tokens.end(), row.draft_tokens.begin(), row.draft_tokens.end());
    const std::span<const TokenId> tokens = request.tokens;
    const auto prompt = static_cast<std::size_t>(request.num_prompt_tokens);
    const std::int32_t last_row = batch->q_start()[i + 1] - 1;
    for (std::size_t draft = 0; draft <= num_drafts; ++draft) {
      QUIRE_ASSIGN_OR_RETURN(const auto mask, GrammarMask(masks, row, draft));
      hidden_rows.push_back(last_row - static_cast<std::int32_t>(num_drafts - draft));
      sources.push_back(i);
      sampling_rows.push_back({.params = &request.sampling,
                               .seed = request.seed,
                               .prompt = tokens.first(prompt),
                               .output = tokens.subspan(prompt, known + draft - prompt),
                               .eos_token_ids = request.eos_token_ids,
                               .grammar_mask = mask,
                               .forced_token = row.forced_token});
    }
  }
  return i;
}

Result<std::span<const std::uint32_t>> ModelRunner::State::GrammarMask(const StepMasks& masks,
                                                                       const ScheduledRow& row,
                                                                       std::size_t draft) const {
  if (row.grammar_row < 0) return std::span<const std::uint32_t>{};
  const auto words = static_cast<std::size_t>((facts.vocab_size + 31) / 32);
  const std::size_t begin = (static_cast<std::size_t>(row.grammar_row) + draft) * words;
  if (begin + words > masks.words.size()) {
    return Internal("step masks: no row " + std::to_string(row.grammar_row));
  }
  return std::span<const std::uint32_t>(masks.words).subspan(begin, words);
}

void ModelRunner::State::TakeSamples(const StepPlan& plan, StepResult& out) {
  for (std::size_t begin = 0; begin < sources.size();) {
    const std::size_t row_idx = sources[begin];
    const std::vector<TokenId>& drafts = plan.rows[row_idx].draft_tokens;
    std::vector<TokenId>& tokens = batch->request(row_idx).tokens;
    RowResult& result = out.rows[row_idx];
    tokens.resize(tokens.size() - drafts.size());
    for (std::size_t i = 0; i <= drafts.size(); ++i) {
      SampledToken& sample = sampled[begin + i];
      if (!sample.error.ok()) {
        result.error = sample.error;
        break;
      }
      tokens.push_back(sample.token);
      result.tokens.push_back(sample.token);
      if (!sample.logprobs.entries.empty()) result.logprobs.push_back(std::move(sample.logprobs));
      // A draw depends on its own position alone, so a draft is right where it equals the draw.
      if (i < drafts.size() && drafts[i] != sample.token) break;
    }
    begin += drafts.size() + 1;
  }
}

// Prompt logprobs

void ModelRunner::State::ScorePrompts(const StepPlan& plan, StepResult& out) {
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const ScheduledRow& row = plan.rows[i];
    const BatchedRequest& request = batch->request(i);
    if (!request.sampling.prompt_logprobs) continue;
    const std::int32_t end =
        std::min(row.num_computed_tokens + row.num_new_tokens, request.num_prompt_tokens - 1);
    const std::int32_t count = end - row.num_computed_tokens;
    if (count <= 0) continue;
    out.rows[i].prompt_logprobs.resize(static_cast<std::size_t>(count));
    ScorePrompt(request, row.num_computed_tokens, batch->q_start()[i], out.rows[i].prompt_logprobs);
  }
}

void ModelRunner::State::ScorePrompt(const BatchedRequest& request, std::int32_t first_position,
                                     std::int32_t first_row, std::span<PositionLogprobs> out) {
  const auto total = static_cast<std::int32_t>(out.size());
  for (std::int32_t done = 0; done < total; done += max_logit_rows) {
    const std::int32_t count = std::min(max_logit_rows, total - done);
    hidden_rows.clear();
    for (std::int32_t i = 0; i < count; ++i) hidden_rows.push_back(first_row + done + i);
    const TensorView rows = ComputeLogits(hidden, hidden_rows);
    const auto vocab = static_cast<std::size_t>(facts.vocab_size);
    ctx.pool->Run([&](int thread_idx, int num_threads) {
      const Range share = ShareOf(count, thread_idx, num_threads);
      for (std::int64_t i = share.begin; i < share.end; ++i) {
        const auto position = static_cast<std::size_t>(first_position + done + i);
        out[static_cast<std::size_t>(done + i)] = LogprobsOf(
            *ctx.table, {rows.f32() + i * facts.vocab_size, vocab}, request.tokens[position + 1],
            *request.sampling.prompt_logprobs, request.sampling.logprob_token_ids);
      }
    });
  }
}

}  // namespace quire
