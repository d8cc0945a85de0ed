// What turns a grammar into masks over a vocabulary. One backend is there, xgrammar; a second can
// stand beside it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// The vocabulary as a constraint sees it.
struct ConstraintVocabulary {
  std::vector<std::string> bytes;  // by id, what a token adds to a text; empty: never allowed
  std::vector<TokenId> end_ids;    // allowed where the text may end
};

// Special tokens add no text, so they are never allowed, but for `end_ids`. `vocab_size` is the
// model's and may be larger than the tokenizer's.
ConstraintVocabulary MakeConstraintVocabulary(const Tokenizer& tokenizer, std::int64_t vocab_size,
                                              const std::vector<TokenId>& end_ids);

// Where one text stands in a grammar. One thread at a time; Fill of different ones may run at once.
class Matcher {
 public:
  virtual ~Matcher() = default;

  // Sets the bit of each token that may follow, in ceil(vocab / 32) words; not after the end. No
  // bit where there is a failure().
  virtual void Fill(std::span<std::uint32_t> mask) = 0;

  // Takes a token in; false, with nothing changed, where it may not follow.
  virtual bool Accept(TokenId token) = 0;
  // The same for bytes, as one step.
  virtual bool AcceptBytes(std::string_view bytes) = 0;

  // Takes back so many of the last steps, an accepted end among them.
  virtual void Rollback(int num_steps) = 0;

  // Whether the text may end here.
  virtual bool is_complete() const = 0;
  // Whether an end token was taken in.
  virtual bool is_terminated() const = 0;

  // Why it can do no more: its steps were about to take more work or memory than they may.
  virtual const Status& failure() const = 0;

  // The longest text that must follow whatever the model wants; "" where there is a choice.
  virtual std::string JumpForward() = 0;
};

// Immutable as far as callers see; any thread.
class CompiledGrammar {
 public:
  virtual ~CompiledGrammar() = default;
  virtual std::unique_ptr<Matcher> NewMatcher() const = 0;
  // Memory, about; it may grow while matchers use it.
  virtual std::size_t num_bytes() const = 0;
};

// Any thread.
class GrammarBackend {
 public:
  virtual ~GrammarBackend() = default;
  // `ebnf` is what Grammar::ToEbnf gives. Counts against the thread's WorkBudget.
  //
  //   kInvalidArgument    the backend refuses it
  //   kResourceExhausted  the WorkBudget is spent
  virtual Result<std::shared_ptr<const CompiledGrammar>> Compile(const std::string& ebnf) const = 0;
  // Words of a mask.
  virtual std::size_t num_mask_words() const = 0;
};

// What a matcher may cost before it comes to its failure().
struct MatcherLimits {
  // Of one step. A mask that is made for the first time takes some thousand to a million
  // allocations.
  std::int64_t max_step_allocations = 5'000'000;
  std::int64_t max_step_bytes = std::int64_t{256} << 20;
  // The processor time of all its steps: so much at once, and so much more with each. Only grammars
  // that are made to be slow come near.
  std::chrono::nanoseconds most_credit = std::chrono::seconds(1);
  std::chrono::nanoseconds credit_a_step = std::chrono::milliseconds(10);
  // Of all masks of one grammar that are made after it was compiled.
  std::int64_t max_mask_bytes = std::int64_t{256} << 20;
};

Result<std::shared_ptr<const GrammarBackend>> CreateXgrammarBackend(
    ConstraintVocabulary vocab, const MatcherLimits& limits = {});

}  // namespace quire
