// Counts as people write them on a command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/status.h"

namespace quire {

// "4096", "4k" (4000), "4K" (4096), "1.5m": digits, perhaps a fraction, and k, m, g or t (decimal)
// or K, M, G or T (binary). A fraction of one is cut off. kInvalidArgument for anything else,
// negative numbers and what does not fit 64 bits.
Result<std::int64_t> ParseTokenCount(std::string_view text);

struct ModelsOwnLength {
  friend bool operator==(ModelsOwnLength, ModelsOwnLength) = default;
};
struct LengthThatFits {
  friend bool operator==(LengthThatFits, LengthThatFits) = default;
};
// What max-model-len asks for: the model's own length, as much as the KV cache has room for, or
// so many tokens.
using MaxModelLen = std::variant<ModelsOwnLength, LengthThatFits, std::int64_t>;

// Reads ModelOptions::max_model_len: empty, "auto" (or -1), or a count of at least one.
Result<MaxModelLen> ParseMaxModelLen(std::string_view text);

}  // namespace quire
