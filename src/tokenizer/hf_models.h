// The model section of a tokenizer.json.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

// Fills the pipeline's vocabulary and model; the normalizer and pre-tokenizer are there already.
// kUnimplemented for an unknown type and for dropout.
Status ReadModel(const Json& config, TokenizerBuilder& builder);

}  // namespace quire
