#include "sample/logit_edits.h"

#include <algorithm>
#include <limits>

namespace quire {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr std::int32_t kPromptOnly = -1;
constexpr int kMaskWordBits = 32;

bool IsIn(TokenId token, std::span<const float> logits) {
  return token >= 0 && static_cast<std::size_t>(token) < logits.size();
}

void Mask(TokenId token, std::span<float> logits) {
  if (IsIn(token, logits)) logits[static_cast<std::size_t>(token)] = kMasked;
}

void KeepAllowed(const std::vector<TokenId>& ids, std::span<float> logits,
                 std::vector<float>& saved) {
  saved.clear();
  for (const TokenId id : ids) {
    saved.push_back(IsIn(id, logits) ? logits[static_cast<std::size_t>(id)] : kMasked);
  }
  std::fill(logits.begin(), logits.end(), kMasked);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (IsIn(ids[i], logits)) logits[static_cast<std::size_t>(ids[i])] = saved[i];
  }
}

// The last token of each word whose other tokens end the output.
void MaskBadWords(const SamplingRow& row, std::span<float> logits) {
  for (const std::vector<TokenId>& word : row.params->bad_words_ids) {
    if (word.empty() || word.size() - 1 > row.output.size()) continue;
    const auto before = row.output.last(word.size() - 1);
    if (std::equal(before.begin(), before.end(), word.begin())) Mask(word.back(), logits);
  }
}

void MaskStopTokens(const SamplingRow& row, std::span<float> logits) {
  if (static_cast<std::int64_t>(row.output.size()) >= row.params->min_tokens) return;
  for (const TokenId id : row.eos_token_ids) Mask(id, logits);
  for (const TokenId id : row.params->stop_token_ids) Mask(id, logits);
}

void AddBiases(const SamplingRow& row, std::span<float> logits) {
  for (const auto& [id, bias] : row.params->logit_bias) {
    if (IsIn(id, logits)) logits[static_cast<std::size_t>(id)] += bias;
  }
}

void CountTokens(const SamplingRow& row, std::span<const float> logits, EditScratch& scratch) {
  for (const TokenId token : row.output) {
    if (!IsIn(token, logits)) continue;
    if (scratch.counts[static_cast<std::size_t>(token)]++ == 0) scratch.seen.push_back(token);
  }
  if (row.params->repetition_penalty == 1.0) return;
  for (const TokenId token : row.prompt) {
    if (!IsIn(token, logits) || scratch.counts[static_cast<std::size_t>(token)] != 0) continue;
    scratch.counts[static_cast<std::size_t>(token)] = kPromptOnly;
    scratch.seen.push_back(token);
  }
}

float Penalized(const SamplingParams& params, std::int32_t count, float logit) {
  if (logit == kMasked) return logit;
  const auto repetition = static_cast<float>(params.repetition_penalty);
  float penalized = logit > 0.0F ? logit / repetition : logit * repetition;
  if (count > 0) {
    penalized -= static_cast<float>(params.frequency_penalty) * static_cast<float>(count);
    penalized -= static_cast<float>(params.presence_penalty);
  }
  // A penalty near 0 would make infinities, of which no distribution can be made.
  constexpr float kLargest = std::numeric_limits<float>::max();
  return std::clamp(penalized, -kLargest, kLargest);
}

void Penalize(const SamplingRow& row, std::span<float> logits, EditScratch& scratch) {
  const SamplingParams& params = *row.params;
  if (params.repetition_penalty == 1.0 && params.frequency_penalty == 0.0 &&
      params.presence_penalty == 0.0) {
    return;
  }
  CountTokens(row, logits, scratch);
  for (const TokenId token : scratch.seen) {
    const auto index = static_cast<std::size_t>(token);
    logits[index] = Penalized(params, scratch.counts[index], logits[index]);
    scratch.counts[index] = 0;
  }
  scratch.seen.clear();
}

}  // namespace

EditScratch::EditScratch(std::int32_t vocab_size) : counts(static_cast<std::size_t>(vocab_size)) {
  seen.reserve(counts.size());
  allowed.reserve(counts.size());
}

void MaskByGrammar(std::span<const std::uint32_t> mask, std::span<float> logits) {
  if (mask.empty()) return;
  for (std::size_t start = 0; start < logits.size(); start += kMaskWordBits) {
    const std::size_t word_idx = start / kMaskWordBits;
    const std::uint32_t word = word_idx < mask.size() ? mask[word_idx] : 0;
    if (word == ~std::uint32_t{0}) continue;
    const std::size_t count = std::min<std::size_t>(kMaskWordBits, logits.size() - start);
    for (std::size_t bit = 0; bit < count; ++bit) {
      if ((word >> bit & 1) == 0) logits[start + bit] = kMasked;
    }
  }
}

void EditLogits(const SamplingRow& row, std::span<float> logits, EditScratch& scratch) {
  if (IsIn(row.forced_token, logits)) {
    std::fill(logits.begin(), logits.end(), kMasked);
    logits[static_cast<std::size_t>(row.forced_token)] = 0.0F;
    return;
  }
  if (row.params->allowed_token_ids) {
    KeepAllowed(*row.params->allowed_token_ids, logits, scratch.allowed);
  }
  MaskBadWords(row, logits);
  MaskStopTokens(row, logits);
  AddBiases(row, logits);
  Penalize(row, logits, scratch);
}

}  // namespace quire
