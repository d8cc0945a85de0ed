// One answer on its way through its reasoning and its grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/mutex.h"
#include "request/request.h"
#include "structured/backend.h"

namespace quire {

// What constrained answers need to know of tokens. Any thread.
class TokenTexts {
 public:
  // `text_of` gives what a token adds to a text, special ones included; it may be empty where no
  // request has reasoning before its constraint.
  TokenTexts(std::int64_t vocab_size, std::vector<TokenId> end_ids,
             std::function<std::string(TokenId)> text_of)
      : vocab_size_(vocab_size), end_ids_(std::move(end_ids)), text_of_(std::move(text_of)) {}

  const std::vector<TokenId>& end_ids() const { return end_ids_; }
  std::string TextOf(TokenId token) const { return text_of_ ? text_of_(token) : std::string(); }

  // Tokens whose text `marker` begins with. Looks through the vocabulary once for each marker.
  const std::vector<TokenId>& ThatBegin(const std::string& marker) QUIRE_EXCLUDES(mutex_);

 private:
  const std::int64_t vocab_size_;
  const std::vector<TokenId> end_ids_;
  const std::function<std::string(TokenId)> text_of_;

  Mutex mutex_;
  std::map<std::string, std::vector<TokenId>> known_ QUIRE_GUARDED_BY(mutex_);  // by marker
};

// Free text up to the end of the reasoning, where there is any; then what the grammar allows. No
// end token is allowed inside the reasoning.
class ConstrainedAnswer {
 public:
  // `texts` outlives it.
  ConstrainedAnswer(const EngineRequest& request, TokenTexts& texts);

  // Whether the grammar alone decides.
  bool is_past_reasoning() const { return stage_ == ReasoningStage::kOver; }
  Matcher& matcher() { return *matcher_; }
  const Matcher& matcher() const { return *matcher_; }

  // As Matcher's.
  bool Accept(TokenId token);
  void Fill(std::span<std::uint32_t> mask);

  // One that stands at the same place, while that is before the end of the reasoning.
  ConstrainedAnswer CopyInReasoning() const;

 private:
  ConstrainedAnswer(const ConstrainedAnswer& other, std::unique_ptr<Matcher> matcher);
  bool AcceptBegin(TokenId token);
  bool AcceptInside(TokenId token);

  std::shared_ptr<const CompiledGrammar> grammar_;
  TokenTexts* texts_;
  std::unique_ptr<Matcher> matcher_;
  ReasoningStage stage_;
  ReasoningMarkers markers_;
  // What came so far: of the begin marker; of the reasoning, as much as may begin its end.
  std::string tail_;
  bool fits_grammar_ = true;  // `tail_` of a begin marker does, too
};

}  // namespace quire
