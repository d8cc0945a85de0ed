// Special tokens around a text or a pair of texts; truncation and padding.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// A piece of a template: one of the sequences, or special tokens.
struct TemplatePiece {
  int sequence_idx = -1;     // 0: the text; 1: its pair; -1: special tokens
  std::vector<TokenId> ids;  // the special tokens
  std::int32_t type_id = 0;
};

// What one processor does: `single` for a text, `pair` for two. Both name each sequence at most
// once. Without special tokens only the sequences are kept; for Bert's and Roberta's processors
// they then keep their own type ids.
struct PostTemplate {
  std::vector<TemplatePiece> single, pair;
  bool keeps_type_ids = false;     // when no special tokens are added
  bool has_zero_type_ids = false;  // Roberta: all are 0
  // Bert's and Roberta's: special tokens become part of the sequence they stand beside, so that a
  // later step finds as many sequences as this one did, of which there may be any number: those
  // behind the first are wrapped as the second is.
  bool wraps_sequences = false;
};

enum class TruncationStrategy { kLongestFirst, kOnlyFirst, kOnlySecond };
struct Truncation {
  std::size_t max_length = 0, stride = 0;
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  bool from_left = false;
};

struct Padding {
  std::optional<std::size_t> fixed_length;  // unset: the longest of the batch
  std::size_t multiple_of = 0;              // 0: any length
  TokenId id = 0;
  std::int32_t type_id = 0;
  bool on_left = false;
};

// Immutable once filled; any thread.
struct PostProcessor {
  std::vector<PostTemplate> steps;  // of a Sequence; those that only move offsets are left out
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  // The special tokens that go before and after a single text.
  std::vector<TokenId> prefix, suffix;
  // Whether prefix and suffix say all there is to a single text: it stands once in each template.
  bool is_simple = true;
  // Sets the three from the steps.
  void Summarize();

  // Truncates and puts special tokens around one text or two. kInvalidArgument where the pair
  // cannot be truncated as asked.
  Result<Encoding> Process(std::vector<Encoding> sequences, bool add_special_tokens) const;
  void Pad(std::vector<Encoding>& batch) const;

 private:
  Status Truncate(std::vector<Encoding>& sequences, std::size_t max_length) const;
  std::size_t NumAdded(bool is_pair) const;
};

// Fills `out` from the post_processor, truncation and padding sections of a tokenizer.json; each
// may be null.
Status ReadPostProcessor(const Json& config, PostProcessor& out);
Status ReadTruncation(const Json& config, PostProcessor& out);
Status ReadPadding(const Json& config, PostProcessor& out);

// BOS in front and EOS behind, as the flags of a SentencePiece model or a GGUF file say.
PostTemplate MakeBosEosTemplate(std::optional<TokenId> bos, std::optional<TokenId> eos);

}  // namespace quire
