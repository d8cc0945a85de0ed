// Whether a request's output has begun to repeat itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "request/sampling_params.h"

namespace quire {

// Hears each token of an output once. For each size of a pattern it counts for how many tokens the
// output has been equal to itself that many tokens before, so that a token costs one comparison a
// size, however long the output and whatever is in it.
class RepetitionDetector {
 public:
  RepetitionDetector() = default;
  // `max_tokens` bounds the output; sizes that cannot come often enough in it are left out.
  RepetitionDetector(const std::optional<RepetitionDetection>& params, int max_tokens);

  // Whether the output, which ends with a token not yet heard, ends with `min_count` times the same
  // pattern. Does not allocate.
  bool Hear(std::span<const TokenId> output);

 private:
  std::size_t min_size_ = 1;
  std::size_t min_count_ = 0;
  std::vector<std::int32_t> num_equal_;  // by size, from min_size_ on; empty: off
};

}  // namespace quire
