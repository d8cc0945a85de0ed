#include "tokenizer/detokenizer.h"

#include "tokenizer/decode_stream.h"

namespace quire {

IncrementalDetokenizer::IncrementalDetokenizer(const Tokenizer& tokenizer,
                                               const DecodeOptions& options)
    : stream_(std::make_unique<DecodeStream>(tokenizer.pipeline(), options, true)) {}

IncrementalDetokenizer::IncrementalDetokenizer(IncrementalDetokenizer&&) noexcept = default;
IncrementalDetokenizer& IncrementalDetokenizer::operator=(IncrementalDetokenizer&&) noexcept =
    default;
IncrementalDetokenizer::~IncrementalDetokenizer() = default;

std::string IncrementalDetokenizer::Append(TokenId id) {
  stream_->Push(id);
  return stream_->Take();
}

std::string IncrementalDetokenizer::Finish() { return stream_->Finish(); }

void IncrementalDetokenizer::Skip(TokenId id) {
  stream_->Push(id);
  stream_->Take();
}

}  // namespace quire
