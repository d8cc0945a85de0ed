// Ids in, text out: the stages of a tokenizer's decoder, linked.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "tokenizer/decoders.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// One thread at a time; the pipeline must outlive it.
class DecodeStream {
 public:
  // `is_stream`: Take() is called between ids, so runs of bytes are given out as they become valid.
  DecodeStream(const Pipeline& pipeline, const DecodeOptions& options, bool is_stream);

  void Push(TokenId id);
  void PushText(std::string_view token);  // as Push, for a token that is not an added one
  // The text that is certain by now and was not taken yet: "" while it ends in a cut character.
  std::string Take();
  // All the rest; the next id begins a new text.
  std::string Finish();

 private:
  class Output;

  const Pipeline& pipeline_;
  DecodeOptions options_;
  bool is_first_ = true;                              // no token yet; for tokens joined with blanks
  bool was_added_ = false;                            // the token before was an added one
  std::vector<std::unique_ptr<DecodeStage>> stages_;  // [0]: the output; the last takes tokens in
  std::string text_;
};

// The text of tokens given by their own texts.
std::string DecodeTexts(const Pipeline& pipeline, std::initializer_list<std::string_view> tokens);

}  // namespace quire
