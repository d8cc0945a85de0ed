// The model section of a tokenizer.json.
#pragma once

#include <string_view>

#include "base/status.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

// Fills the pipeline's vocabulary and model from the section's text; the normalizer and
// pre-tokenizer are there already. kUnimplemented for an unknown type and for dropout.
Status ReadModel(std::string_view section, TokenizerBuilder& builder);

}  // namespace quire
