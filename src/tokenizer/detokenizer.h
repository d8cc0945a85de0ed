// Text from token ids that come one at a time.
#pragma once

#include <memory>
#include <string>

#include "base/id.h"
#include "tokenizer/tokenizer.h"

namespace quire {

class DecodeStream;  // decode_stream.h

// Turns ids into text as they come. The deltas joined, with Finish(), are the text of one
// Tokenizer::Decode() of all ids (a run of byte tokens that is not UTF-8 as a whole apart, where
// a character that was given out already stays). A delta is valid UTF-8 and never holds a U+FFFD
// for bytes that a later id can still complete; text is held back only for that, or while a later
// id can still change it.
//
// One thread at a time; the tokenizer must outlive it. O(1) an id, beside the text itself.
class IncrementalDetokenizer {
 public:
  explicit IncrementalDetokenizer(const Tokenizer& tokenizer, const DecodeOptions& options = {});
  IncrementalDetokenizer(IncrementalDetokenizer&&) noexcept;
  IncrementalDetokenizer& operator=(IncrementalDetokenizer&&) noexcept;
  ~IncrementalDetokenizer();

  // The text that `id` adds, "" where nothing is certain yet.
  std::string Append(TokenId id);

  // What is still held back. The next id begins a new text.
  std::string Finish();

  // Takes in ids whose text is not wanted (a prompt), so that what follows reads as its
  // continuation: later deltas are the text of all ids without that of these.
  void Skip(TokenId id);

 private:
  std::unique_ptr<DecodeStream> stream_;
};

}  // namespace quire
