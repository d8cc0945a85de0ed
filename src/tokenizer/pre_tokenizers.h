// What cuts a normalized text into the pieces that the model sees.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/pattern.h"
#include "tokenizer/pieces.h"

namespace quire {

// Immutable; any thread.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Cuts each piece further. kResourceExhausted as Pattern::FindAll.
  virtual Status Apply(Pieces& pieces) const = 0;

  // How it is called in `inspect`; "" for parts that go without saying.
  virtual std::string name() const { return ""; }

  // Whether it turns bytes into their stand-ins as its last deed, and what is left of it without
  // that: then a model over bytes can take the pieces as they are.
  virtual bool EndsInByteChars() const { return false; }
  // As Apply, without the stand-ins at the end; only where EndsInByteChars().
  virtual Status ApplyAsBytes(Pieces& pieces) const { return Apply(pieces); }
};

// What happens to a match of a Split's pattern.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

std::unique_ptr<const PreTokenizer> MakeSplit(std::unique_ptr<const Pattern> pattern,
                                              SplitBehavior behavior, bool is_inverted = false);
// GPT-2's: `use_regex` cuts at its pattern; bytes become their stand-ins.
std::unique_ptr<const PreTokenizer> MakeByteLevel(bool add_prefix_space, bool use_regex);
std::unique_ptr<const PreTokenizer> MakeDigits(bool is_individual);
std::unique_ptr<const PreTokenizer> MakePunctuation(SplitBehavior behavior);
std::unique_ptr<const PreTokenizer> MakeBertPreTokenizer();
std::unique_ptr<const PreTokenizer> MakePreTokenizerSequence(
    std::vector<std::unique_ptr<const PreTokenizer>> parts);

// The pre-tokenizer of a tokenizer.json; null for a null config. kInvalidArgument naming the field.
Result<std::unique_ptr<const PreTokenizer>> MakePreTokenizer(const Json& config);

}  // namespace quire
