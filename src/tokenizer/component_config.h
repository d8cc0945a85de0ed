// Reading the component sections of a tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/pattern.h"

namespace quire {

inline constexpr int kMaxComponentDepth = 8;    // Sequences in Sequences
inline constexpr int kMaxComponentCount = 256;  // parts of a Sequence

// The pattern of a Split or Replace: {"String": …} or {"Regex": …}.
Result<std::unique_ptr<const Pattern>> ReadPattern(const Json& config);

// A member that must be one code point.
Result<char32_t> RequireChar(const Json& config, std::string_view name);

// The parts of a Sequence, named `name`; bounded.
Result<const JsonArray*> RequireParts(const Json& config, std::string_view name, int depth);

}  // namespace quire
