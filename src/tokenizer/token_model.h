// What all tokenization models share: a piece of text in, ids out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "tokenizer/merger.h"
#include "tokenizer/word_cache.h"

namespace quire {

// Working memory of one encoding call, reused by later ones. One thread at a time.
struct ModelScratch {
  WordCache cache;
  Merger merger;
  std::vector<TokenId> ids;
  std::string text;
};

// Immutable; any thread, each with its own scratch.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the ids of `piece`, valid UTF-8 (bytes, for a model over bytes). kInvalidArgument where
  // the vocabulary lacks the unknown token that the piece needs.
  virtual Status Encode(std::string_view piece, ModelScratch& scratch,
                        std::vector<TokenId>& out) const = 0;

  // Every piece of so many bytes has at least so many ids.
  virtual std::size_t MinIds(std::size_t /*num_bytes*/) const { return 0; }
};

}  // namespace quire
