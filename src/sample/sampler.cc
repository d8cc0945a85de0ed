#include "sample/sampler.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/rng.h"
#include "base/strings.h"
#include "ops/vocab.h"
#include "sample/draw.h"
#include "sample/logit_edits.h"
#include "sample/logprobs.h"

namespace quire {

namespace {

constexpr std::uint64_t kTokenDraw = 0;  // the index, at a position, of the draw of its token

// The first token whose logit is NaN or +infinity: no distribution can be made of either.
std::optional<std::size_t> FindUnusable(std::span<const float> logits) {
  const auto is_unusable = [](float logit) {
    return !(logit <= std::numeric_limits<float>::max());
  };
  int count = 0;  // of all, without an early end: that the compiler can vectorise
  for (const float logit : logits) count += static_cast<int>(is_unusable(logit));
  if (count == 0) return std::nullopt;
  const auto first = std::find_if(logits.begin(), logits.end(), is_unusable);
  return static_cast<std::size_t>(first - logits.begin());
}

// What the draw made of edited logits: divided by the temperature, those of tokens that were cut
// off -inf. `kept` is by token, empty where nothing was cut.
void ApplyDraw(double temperature, std::span<const Candidate> kept, std::span<float> logits) {
  const auto divisor = static_cast<float>(std::max(temperature, kGreedyTemperature));
  std::size_t next = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (kept.empty()) {
      logits[id] /= divisor;
    } else if (next < kept.size() && static_cast<std::size_t>(kept[next].token) == id) {
      logits[id] /= divisor;
      ++next;
    } else {
      logits[id] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace

struct Sampler::Scratch {
  explicit Scratch(std::int32_t vocab_size) : edit(vocab_size), draw(vocab_size) {
    shown.reserve(static_cast<std::size_t>(vocab_size));
  }

  EditScratch edit;
  DrawScratch draw;
  std::vector<float> shown;  // logits that the logprobs are of
};

Sampler::Sampler(std::int32_t vocab_size, LogprobsKind logprobs)
    : vocab_size_(vocab_size), logprobs_(logprobs) {}

Sampler::~Sampler() = default;

void Sampler::SampleRow(const kernels::CpuTable& table, const SamplingRow& row,
                        std::span<float> logits, Scratch& scratch, SampledToken& out) const {
  out.token = -1;
  out.logprobs.entries.clear();
  out.error = {};
  if (const auto token = FindUnusable(logits)) {
    out.error = Internal(StrCat("logits: token ", *token, " has ", logits[*token]));
    return;
  }
  MaskByGrammar(row.grammar_mask, logits);
  const SamplingParams& params = *row.params;
  const bool wants_logprobs = params.logprobs || !params.logprob_token_ids.empty();
  const auto show = [&] { scratch.shown.assign(logits.begin(), logits.end()); };
  if (wants_logprobs && !logprobs_.is_processed) show();
  EditLogits(row, logits, scratch.edit);
  if (wants_logprobs && logprobs_.is_processed) show();

  out.token = ops::ArgMax(table, logits);
  if (logits[static_cast<std::size_t>(out.token)] == -std::numeric_limits<float>::infinity()) {
    out.token = -1;
    out.error = InvalidArgument(
        row.grammar_mask.empty()
            ? "the request's constraints leave no token to choose"
            : "structured_outputs: the grammar, together with the request's other constraints "
              "(allowed_token_ids, bad_words, min_tokens), leaves no token to choose");
    return;
  }
  if (!params.is_greedy()) {
    const double uniform = UniformDraw(row.seed, row.output.size(), kTokenDraw);
    out.token = DrawToken(table, params, uniform, out.token, logits, scratch.draw);
  }
  if (!wants_logprobs) return;
  if (logprobs_.is_processed && !params.is_greedy()) {
    ApplyDraw(params.temperature, scratch.draw.kept, scratch.shown);
  }
  const float log_sum = logprobs_.is_logits ? 0.0F : ops::LogSumExp(table, scratch.shown);
  FillLogprobs(scratch.shown, log_sum, out.token, params.logprobs.value_or(0),
               params.logprob_token_ids, out.logprobs);
}

void Sampler::Sample(ops::OpContext& ctx, TensorView logits, std::span<const SamplingRow> rows,
                     std::vector<SampledToken>& out) {
  QUIRE_CHECK(logits.shape() == Shape({static_cast<std::int64_t>(rows.size()), vocab_size_}));
  out.resize(rows.size());
  if (rows.empty()) return;
  const auto num_threads = static_cast<std::size_t>(ctx.pool->num_threads());
  while (scratch_.size() < num_threads) scratch_.emplace_back(vocab_size_);
  const auto sample = [&](std::int64_t row_idx, Scratch& scratch) {
    const auto index = static_cast<std::size_t>(row_idx);
    const auto vocab_size = static_cast<std::size_t>(vocab_size_);
    SampleRow(*ctx.table, rows[index], {logits.f32() + index * vocab_size, vocab_size}, scratch,
              out[index]);
  };
  if (rows.size() == 1) {  // not worth waking the other threads
    sample(0, scratch_.front());
    return;
  }
  ctx.pool->Run([&](int thread_idx, int threads) {
    const Range share = ShareOf(static_cast<std::int64_t>(rows.size()), thread_idx, threads);
    Scratch& scratch = scratch_[static_cast<std::size_t>(thread_idx)];
    for (std::int64_t row_idx = share.begin; row_idx < share.end; ++row_idx) {
      sample(row_idx, scratch);
    }
  });
}

}  // namespace quire
