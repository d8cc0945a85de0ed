#include "sched/repetition.h"

#include <algorithm>

namespace quire {

RepetitionDetector::RepetitionDetector(const std::optional<RepetitionDetection>& params,
                                       int max_tokens) {
  if (!params || params->max_pattern_size <= 0 || params->min_count < 2) return;
  min_size_ = static_cast<std::size_t>(std::max(params->min_pattern_size, 1));
  min_count_ = static_cast<std::size_t>(params->min_count);
  const auto max_size =
      static_cast<std::size_t>(std::min(params->max_pattern_size, max_tokens / params->min_count));
  if (max_size >= min_size_) num_equal_.resize(max_size - min_size_ + 1);
}

bool RepetitionDetector::Hear(std::span<const TokenId> output) {
  if (num_equal_.empty() || output.empty()) return false;
  const TokenId last = output.back();
  // Larger sizes have nothing to be compared with.
  const std::size_t end = std::min(num_equal_.size() + min_size_, output.size());
  bool is_found = false;
  for (std::size_t size = min_size_; size < end; ++size) {
    std::int32_t& num_equal = num_equal_[size - min_size_];
    num_equal = output[output.size() - 1 - size] == last ? num_equal + 1 : 0;
    is_found |= static_cast<std::size_t>(num_equal) >= size * (min_count_ - 1);
  }
  return is_found;
}

}  // namespace quire
