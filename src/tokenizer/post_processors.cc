#include "tokenizer/post_processors.h"

#include <algorithm>
#include <span>
#include <utility>

namespace quire {

namespace {

Encoding Slice(const Encoding& whole, std::size_t begin, std::size_t end) {
  const auto cut = [&](auto& values) {
    using Values = std::decay_t<decltype(values)>;
    return Values(values.begin() + begin, values.begin() + end);
  };
  Encoding out;
  out.ids = cut(whole.ids);
  out.type_ids = cut(whole.type_ids);
  out.special_tokens_mask = cut(whole.special_tokens_mask);
  out.attention_mask = cut(whole.attention_mask);
  return out;
}

// The windows of `length` tokens that truncation cuts a sequence into, the kept one first.
std::vector<std::pair<std::size_t, std::size_t>> Windows(std::size_t size, std::size_t length,
                                                         const Truncation& truncation) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  const std::size_t step = length - truncation.stride;
  if (truncation.from_left) {
    for (std::size_t end = size;; end -= step) {
      const std::size_t begin = end > length ? end - length : 0;
      out.emplace_back(begin, end);
      if (begin == 0 || end <= step) break;
    }
    return out;
  }
  for (std::size_t begin = 0; begin < size; begin += step) {
    const std::size_t end = std::min(begin + length, size);
    out.emplace_back(begin, end);
    if (end == size) break;
  }
  return out;
}

Status Cut(Encoding& encoding, std::size_t length, const Truncation& truncation) {
  if (length >= encoding.ids.size()) return {};
  if (length == 0) {
    Encoding whole = std::exchange(encoding, {});
    encoding.overflow.push_back(std::move(whole));
    return {};
  }
  if (truncation.stride >= length) {
    return InvalidArgument("truncation.stride: must be smaller than the length that is left");
  }
  const auto windows = Windows(encoding.ids.size(), length, truncation);
  Encoding kept = Slice(encoding, windows[0].first, windows[0].second);
  for (std::size_t i = 1; i < windows.size(); ++i) {
    kept.overflow.push_back(Slice(encoding, windows[i].first, windows[i].second));
  }
  encoding = std::move(kept);
  return {};
}

void AppendTokens(Encoding& out, const Encoding& more) {
  const auto join = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  join(out.ids, more.ids);
  join(out.type_ids, more.type_ids);
  join(out.special_tokens_mask, more.special_tokens_mask);
  join(out.attention_mask, more.attention_mask);
}

Encoding WithoutOverflow(const Encoding& encoding) {
  return Slice(encoding, 0, encoding.ids.size());
}

// Appends `more`; what was cut off of either is combined with all of the other.
void MergeWith(Encoding& out, const Encoding& more) {
  std::vector<Encoding> overflow;
  for (const Encoding& cut : out.overflow) {
    Encoding joined = WithoutOverflow(cut);
    AppendTokens(joined, more);
    overflow.push_back(std::move(joined));
    for (const Encoding& other : more.overflow) {
      Encoding both = WithoutOverflow(cut);
      AppendTokens(both, other);
      overflow.push_back(std::move(both));
    }
  }
  for (const Encoding& other : more.overflow) {
    Encoding joined = WithoutOverflow(out);
    AppendTokens(joined, other);
    overflow.push_back(std::move(joined));
  }
  AppendTokens(out, more);
  out.overflow = std::move(overflow);
}

Encoding SpecialTokens(const TemplatePiece& piece) {
  const std::size_t count = piece.ids.size();
  Encoding out;
  out.ids = piece.ids;
  out.type_ids.assign(count, piece.type_id);
  out.special_tokens_mask.assign(count, 1);
  out.attention_mask.assign(count, 1);
  return out;
}

// The sequence that a step puts somewhere.
Encoding Placed(const PostTemplate& step, const TemplatePiece& piece, const Encoding& sequence,
                bool add_special_tokens) {
  Encoding out = sequence;
  if (add_special_tokens || !step.keeps_type_ids) {
    out.type_ids.assign(out.ids.size(), piece.type_id);
  }
  return out;
}

// Each sequence with its special tokens in one.
std::vector<Encoding> Wrap(const PostTemplate& step, const std::vector<Encoding>& sequences,
                           bool add_special_tokens) {
  std::vector<Encoding> out;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto pieces =
        i == 0 ? std::span(step.single) : std::span(step.pair).subspan(step.single.size());
    Encoding& joined = out.emplace_back();
    for (const TemplatePiece& piece : pieces) {
      if (piece.sequence_idx >= 0) {
        MergeWith(joined, Placed(step, piece, sequences[i], add_special_tokens));
      } else if (add_special_tokens) {
        MergeWith(joined, SpecialTokens(piece));
      }
    }
  }
  return out;
}

// One step: the sequences, special tokens among them, as the template has them in order.
std::vector<Encoding> Arrange(const PostTemplate& step, std::vector<Encoding> sequences,
                              bool add_special_tokens) {
  if (step.has_zero_type_ids) {
    for (Encoding& sequence : sequences) sequence.type_ids.assign(sequence.ids.size(), 0);
  }
  if (step.wraps_sequences) return Wrap(step, sequences, add_special_tokens);
  std::vector<Encoding> out;
  for (const TemplatePiece& piece : sequences.size() > 1 ? step.pair : step.single) {
    if (piece.sequence_idx >= 0) {
      out.push_back(Placed(step, piece, sequences[piece.sequence_idx], add_special_tokens));
    } else if (add_special_tokens) {
      out.push_back(SpecialTokens(piece));
    }
  }
  return out;
}

void PadTo(Encoding& encoding, std::size_t length, const Padding& padding) {
  for (Encoding& cut : encoding.overflow) PadTo(cut, length, padding);
  if (encoding.ids.size() >= length) return;
  const std::size_t count = length - encoding.ids.size();
  const auto fill = [&](auto& values, auto value) {
    values.insert(padding.on_left ? values.begin() : values.end(), count, value);
  };
  fill(encoding.ids, padding.id);
  fill(encoding.type_ids, padding.type_id);
  fill(encoding.special_tokens_mask, std::uint8_t{1});
  fill(encoding.attention_mask, std::uint8_t{0});
}

}  // namespace

void PostProcessor::Summarize() {
  prefix.clear();
  suffix.clear();
  is_simple = true;
  std::size_t num_parts = 1;  // that a step finds
  for (const PostTemplate& step : steps) {
    std::vector<TokenId> before, after;
    int num_sequences = 0;
    for (const TemplatePiece& piece : step.single) {
      if (piece.sequence_idx >= 0) {
        ++num_sequences;
        continue;
      }
      std::vector<TokenId>& side = num_sequences == 0 ? before : after;
      side.insert(side.end(), piece.ids.begin(), piece.ids.end());
    }
    is_simple &= num_sequences == 1 && num_parts == 1;
    if (!step.wraps_sequences) num_parts = step.single.size();
    prefix.insert(prefix.begin(), before.begin(), before.end());
    suffix.insert(suffix.end(), after.begin(), after.end());
  }
}

std::size_t PostProcessor::NumAdded(bool is_pair) const {
  std::size_t count = 0;
  for (const PostTemplate& step : steps) {
    for (const TemplatePiece& piece : is_pair ? step.pair : step.single) count += piece.ids.size();
  }
  return count;
}

Status PostProcessor::Truncate(std::vector<Encoding>& sequences, std::size_t max_length) const {
  std::size_t total = 0;
  for (const Encoding& sequence : sequences) total += sequence.ids.size();
  if (max_length == 0) {
    for (Encoding& sequence : sequences) QUIRE_RETURN_IF_ERROR(Cut(sequence, 0, *truncation));
    return {};
  }
  if (total <= max_length) return {};
  if (truncation->strategy != TruncationStrategy::kLongestFirst) {
    const std::size_t idx = truncation->strategy == TruncationStrategy::kOnlyFirst ? 0 : 1;
    if (idx >= sequences.size()) {
      return InvalidArgument("truncation.strategy: only_second needs a pair of texts");
    }
    const std::size_t length = sequences[idx].ids.size();
    if (length <= total - max_length) {
      return InvalidArgument("truncation: the sequence to cut is too short");
    }
    return Cut(sequences[idx], length - (total - max_length), *truncation);
  }
  if (sequences.size() == 1) return Cut(sequences[0], max_length, *truncation);
  std::size_t first = sequences[0].ids.size(), second = sequences[1].ids.size();
  const bool is_swapped = first > second;
  if (is_swapped) std::swap(first, second);
  second = first > max_length ? first : std::max(first, max_length - first);
  if (first + second > max_length) {
    first = max_length / 2;
    second = first + max_length % 2;
  }
  if (is_swapped) std::swap(first, second);
  QUIRE_RETURN_IF_ERROR(Cut(sequences[0], first, *truncation));
  return Cut(sequences[1], second, *truncation);
}

Result<Encoding> PostProcessor::Process(std::vector<Encoding> sequences,
                                        bool add_special_tokens) const {
  if (truncation) {
    const std::size_t added = add_special_tokens ? NumAdded(sequences.size() > 1) : 0;
    const std::size_t max_length =
        truncation->max_length > added ? truncation->max_length - added : 0;
    QUIRE_RETURN_IF_ERROR(Truncate(sequences, max_length));
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    sequences[i].type_ids.assign(sequences[i].ids.size(), static_cast<std::int32_t>(i));
  }
  // A later step takes the parts that an earlier one left for its sequences.
  for (const PostTemplate& step : steps) {
    if (sequences.size() > 2 && !step.wraps_sequences) {
      return Unimplemented("post_processor: a template for more than two parts");
    }
    sequences = Arrange(step, std::move(sequences), add_special_tokens);
  }
  Encoding out;
  for (const Encoding& sequence : sequences) MergeWith(out, sequence);
  if (sequences.size() == 1) out.overflow = sequences[0].overflow;
  return out;
}

void PostProcessor::Pad(std::vector<Encoding>& batch) const {
  if (!padding) return;
  std::size_t length = 0;
  for (const Encoding& encoding : batch) length = std::max(length, encoding.ids.size());
  if (padding->fixed_length) length = *padding->fixed_length;
  if (padding->multiple_of > 0 && length % padding->multiple_of != 0) {
    length += padding->multiple_of - length % padding->multiple_of;
  }
  for (Encoding& encoding : batch) PadTo(encoding, length, *padding);
}

PostTemplate MakeBosEosTemplate(std::optional<TokenId> bos, std::optional<TokenId> eos) {
  PostTemplate out;
  for (int sequence = 0; sequence < 2; ++sequence) {
    std::vector<TemplatePiece> pieces;
    if (bos) pieces.push_back({-1, {*bos}, sequence});
    pieces.push_back({sequence, {}, sequence});
    if (eos) pieces.push_back({-1, {*eos}, sequence});
    if (sequence == 0) out.single = pieces;
    out.pair.insert(out.pair.end(), pieces.begin(), pieces.end());
  }
  return out;
}

}  // namespace quire
