// How the scheduler asks which tokens a constrained request may have. The engine implements it.
#pragma once

#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "request/request.h"
#include "step/plan.h"

namespace quire {

inline constexpr int kMaxForeseen = 8;  // tokens at once

// Knows requests that have a grammar, from Add to Remove. A preempted one stays as it is: its
// tokens do, too. Engine thread only.
class TokenConstraint {
 public:
  enum class Verdict {
    kGoesOn,
    kEnds,     // the answer is complete and nothing more can follow
    kRefused,  // the token was not allowed
  };

  virtual ~TokenConstraint() = default;
  virtual void Add(const EngineRequest& request) = 0;
  virtual void Remove(RequestId id) = 0;
  // Takes in the next token of an answer; `may_end`: an end token may come after it.
  virtual Verdict Accept(RequestId id, TokenId token, bool may_end) = 0;
  // Tokens to which there is no alternative, at most `max_tokens`, in the order they must come.
  // They are scheduled as drafts, which are always right.
  virtual void Foresee(RequestId id, int max_tokens, std::vector<TokenId>& tokens) = 0;
  // Why the constraint itself came to an end, where a request's row has an empty mask or its token
  // was refused; ok: it has not.
  virtual Status FailureOf(RequestId id) const = 0;
  // Gives each row that samples for a constrained request its rows of the step's masks, whose words
  // the engine asks for once the step is under way.
  virtual void PlaceMasks(StepPlan& plan) = 0;
};

}  // namespace quire
