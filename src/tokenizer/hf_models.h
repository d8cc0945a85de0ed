// The model section of a tokenizer.json.
#pragma once

#include "base/status.h"
#include "tokenizer/json_cursor.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

// Fills the pipeline's vocabulary and model from the section's members; the normalizer and
// pre-tokenizer are there already. kUnimplemented for an unknown type and for dropout.
Status ReadModel(const JsonMembers& section, TokenizerBuilder& builder);

}  // namespace quire
