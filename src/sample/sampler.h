// From logits to tokens: vLLM's pipeline of masks, penalties, temperature, cuts and the draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "ops/context.h"
#include "request/request.h"
#include "request/sampling_params.h"

namespace quire {

// What the sampler reads of one request when it draws its next token. Spans are borrowed for the
// call.
struct SamplingRow {
  const SamplingParams* params;
  std::uint64_t seed = 0;
  std::span<const TokenId> prompt;         // for the repetition penalty
  std::span<const TokenId> output;         // tokens generated so far
  std::span<const TokenId> eos_token_ids;  // masked until min_tokens, as stop_token_ids are
  std::span<const std::uint32_t> grammar_mask = {};  // a bit a token, empty: unconstrained
  TokenId forced_token = -1;                         // the only one left after all edits; -1: none
};

// What a sampled token's logprobs tell.
struct LogprobsKind {
  // Of the logits as the token was drawn from them: edited, over the temperature and without the
  // tokens that were cut off; else of those before any change but the grammar's mask.
  bool is_processed = false;
  bool is_logits = false;  // those logits themselves in place of their log-probabilities
};

struct SampledToken {
  TokenId token = -1;
  PositionLogprobs logprobs;
  Status error;  // no token is left, or a logit is NaN or +infinity
};

// Stateless but for scratch memory. One thread at a time.
class Sampler {
 public:
  explicit Sampler(std::int32_t vocab_size, LogprobsKind logprobs = {});
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Draws one token a row; logits [rows, vocab] f32 are changed in place. The draw of a row
  // depends on its logits, parameters, seed and output.size() alone, never on the other rows.
  // Rows are shared out over ctx.pool. `out` is resized to the rows. The order of operations:
  // grammar mask, snapshot for logprobs, allowed_token_ids, bad_words, min_tokens, logit_bias,
  // penalties, then the best token or temperature, min_p, top_k, top_p, typical_p and the draw.
  void Sample(ops::OpContext& ctx, TensorView logits, std::span<const SamplingRow> rows,
              std::vector<SampledToken>& out);

 private:
  struct Scratch;
  void SampleRow(const kernels::CpuTable& table, const SamplingRow& row, std::span<float> logits,
                 Scratch& scratch, SampledToken& out) const;

  std::vector<Scratch> scratch_;  // one a thread
  std::int32_t vocab_size_;
  LogprobsKind logprobs_;
};

// The logprobs of `token` after a position with these raw logits: `token` first, then the `count`
// best in falling order (kAllLogprobs: every token, by id), then `extra`. The best ones are ranked
// 1, 2, … with lower ids first among equals, and masked tokens are not among them; the rank of
// `token` and of `extra` is the number of logits that are at least theirs, as in vLLM. Each of
// those costs a pass over the vocabulary; kAllLogprobs sorts it.
PositionLogprobs LogprobsOf(const kernels::CpuTable& table, std::span<const float> logits,
                            TokenId token, int count, std::span<const TokenId> extra);

}  // namespace quire
