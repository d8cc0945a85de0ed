// When a request has thought for as long as it may, and what it must say then.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/id.h"
#include "request/request.h"

namespace quire {

// Hears each token of an answer and follows its reasoning as the parsers of answers do: by its
// text, whatever the tokens of the markers are.
class ThinkingBudget {
 public:
  ThinkingBudget() = default;  // nothing is ever forced
  ThinkingBudget(std::shared_ptr<const ThinkingLimit> limit, ReasoningStage stage);

  void Hear(TokenId token);
  // The token that must come next; -1: any may. Once the budget is used up these spell the marker
  // of the end, going on with what the answer has of it already.
  TokenId ForcedToken() const;
  // So many tokens, at the least, come before one is forced.
  int num_free() const;

 private:
  void HearBegin(const std::string& text);
  void HearInside(std::string_view text);

  std::shared_ptr<const ThinkingLimit> limit_;  // null: none, or the reasoning is over
  ReasoningStage stage_ = ReasoningStage::kOver;
  int num_tokens_ = 0;  // of the reasoning
  // What came so far: of the answer, before the reasoning; of the reasoning, as much as may begin
  // its end.
  std::string tail_;
};

}  // namespace quire
