// What is done to a text before it is split.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/unicode.h"

namespace quire {

// Immutable; any thread.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Changes `text`, valid UTF-8, in place. kResourceExhausted where a regular expression runs into
  // its match limit, or the text grows past 32 times its length and 1 MiB.
  virtual Status Apply(std::string& text) const = 0;

  // Whether it leaves bytes' stand-ins in place of the text (ByteLevel).
  virtual bool EndsInByteChars() const { return false; }
};

std::unique_ptr<const Normalizer> MakeUnicodeNormalizer(unicode::Form form);
std::unique_ptr<const Normalizer> MakeLiteralReplace(std::string from, std::string to);
std::unique_ptr<const Normalizer> MakeNormalizerSequence(
    std::vector<std::unique_ptr<const Normalizer>> parts);

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};
std::unique_ptr<const Normalizer> MakeBertNormalizer(const BertNormalizerOptions& options);

// The normalizer of a tokenizer.json; null for a null config. kInvalidArgument naming the field.
Result<std::unique_ptr<const Normalizer>> MakeNormalizer(const Json& config);

}  // namespace quire
