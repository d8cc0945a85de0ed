// From token texts back to text, one token at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/pattern.h"

namespace quire {

// A part of a token's text on its way through the decoders. Most tokens come whole (is_start and
// is_end); one that joins all others never ends before Finish().
struct TokenPart {
  std::string_view text;
  bool is_start = true;
  bool is_end = true;
};

// Takes parts in and hands parts on to the stage after it. One thread at a time.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void Push(const TokenPart& part) = 0;
  // The text has ended: hands on all that was held back.
  virtual void Finish() = 0;
  // Whether bytes are held back that would read as U+FFFD if the text ended here.
  virtual bool HoldsBytes() const { return false; }
};

// A step of decoding. Immutable; any thread.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Appends its stages, last first: each hands on to the one before it in `stages`. In a stream, a
  // run of byte tokens that is valid so far is given out; else it waits for its end.
  virtual void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages,
                          bool is_stream) const = 0;
};

// What a decoder makes of the bytes of tokens.
struct DecoderTraits {
  bool has_byte_chars = false;     // tokens are spelled in bytes' stand-ins
  bool has_byte_fallback = false;  // "<0x0A>" is a byte
};

struct DecoderChain {
  std::vector<std::unique_ptr<const Decoder>> steps;  // none: tokens joined with a blank
  bool joins_with_blank = false;
  DecoderTraits traits;
};

std::unique_ptr<const Decoder> MakeByteLevelDecoder();
std::unique_ptr<const Decoder> MakeByteFallbackDecoder();
std::unique_ptr<const Decoder> MakeFuseDecoder();
std::unique_ptr<const Decoder> MakeStripDecoder(char32_t content, int start, int stop);
std::unique_ptr<const Decoder> MakeReplaceDecoder(std::string from, std::string to);
std::unique_ptr<const Decoder> MakePatternReplaceDecoder(std::unique_ptr<const Pattern> pattern,
                                                         std::string content);
std::unique_ptr<const Decoder> MakeWordPieceDecoder(std::string prefix, bool cleanup);
std::unique_ptr<const Decoder> MakeMetaspaceDecoder(char32_t replacement, bool drops_first);
std::unique_ptr<const Decoder> MakeBpeDecoder(std::string suffix);
struct CtcOptions {
  std::string pad_token, word_delimiter_token;
  bool cleanup = true;
};
std::unique_ptr<const Decoder> MakeCtcDecoder(CtcOptions options);

// The decoder of a tokenizer.json; for a null config tokens are joined with blanks.
// kInvalidArgument naming the field.
Result<DecoderChain> MakeDecoder(const Json& config);

// The value of a token spelled "<0xNN>"; -1 for any other.
int ByteOfToken(std::string_view token);

}  // namespace quire
