// The parts of a tokenizer and the way a text takes through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/mutex.h"
#include "base/status.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/decoders.h"
#include "tokenizer/normalizers.h"
#include "tokenizer/pieces.h"
#include "tokenizer/post_processors.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/prefix_cache.h"
#include "tokenizer/token_model.h"
#include "tokenizer/vocabulary.h"

namespace quire {

// Working memory of one encoding call, reused by later ones. One thread at a time.
struct EncodeScratch {
  ModelScratch model;
  Pieces pieces;
  std::vector<AddedSplit> plain_splits, normalized_splits;
  std::vector<ResumePoint> checkpoints;  // of the last text; offsets in it
  std::size_t max_ids = SIZE_MAX;        // of the text under way; set by each call
};

// Immutable once loaded; any thread.
struct Pipeline {
  Vocabulary vocabulary;  // the model's own; added tokens are not in it unless they are pieces too
  AddedTokens added;
  std::unique_ptr<const Normalizer> normalizer;       // null: none
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<const TokenModel> model;
  bool model_takes_bytes = false;  // pieces go to it without the stand-ins of bytes
  PostProcessor post;
  DecoderChain decoder;

  // Whether a text can be cut behind any added token without a change to the ids of its parts.
  bool CanCutAtTokens() const;

  // Appends the ids of `text`, valid UTF-8, without the post-processor's. `is_start`: it is the
  // beginning of the whole input. Stops once `out` has more than scratch.max_ids ids; the last of
  // them then mean nothing.
  Status Encode(std::string_view text, bool parse_special, bool is_start, EncodeScratch& scratch,
                std::vector<TokenId>& out) const;

  int id_end() const;  // one past the largest id that has a token
  bool HasToken(TokenId id) const;
  std::string_view TokenText(TokenId id) const;  // as the vocabulary file spells it
  // What decoding starts from: the same, but for added tokens that are found after normalization.
  std::string_view ShownText(TokenId id) const;
  TokenId Find(std::string_view piece) const;  // kNoToken: none

 private:
  Status EncodeSegment(std::string_view text, bool parse_special, bool is_start,
                       EncodeScratch& scratch, std::vector<TokenId>& out) const;
  Status EncodePieces(EncodeScratch& scratch, std::vector<TokenId>& out) const;
};

// The pool of working memory of a tokenizer; any thread.
struct TokenizerMemory {
  PrefixCache prefixes;
  Mutex mutex;
  std::vector<std::unique_ptr<EncodeScratch>> free QUIRE_GUARDED_BY(mutex);
};

// Borrows working memory for the length of a scope.
class BorrowedScratch {
 public:
  explicit BorrowedScratch(TokenizerMemory& memory);
  BorrowedScratch(const BorrowedScratch&) = delete;
  BorrowedScratch& operator=(const BorrowedScratch&) = delete;
  ~BorrowedScratch();
  EncodeScratch& operator*() { return *scratch_; }

 private:
  TokenizerMemory& memory_;
  std::unique_ptr<EncodeScratch> scratch_;
};

}  // namespace quire
