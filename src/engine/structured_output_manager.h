// Where each constrained request stands in its grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "engine/constrained_answer.h"
#include "platform/thread_pool.h"
#include "request/request.h"
#include "sched/token_constraint.h"
#include "step/plan.h"

namespace quire {

// Engine thread only, but for the threads that it lends itself to fill many masks.
class StructuredOutputManager : public TokenConstraint {
 public:
  struct Options {
    std::int64_t vocab_size = 0;                  // of the model; masks have a bit for each token
    std::vector<TokenId> end_ids;                 // those that a grammar allows at its end
    std::function<std::string(TokenId)> text_of;  // as in TokenTexts
    // Masks are first made when FillMasks asks for them, because that is then free of cost. So it
    // is that matchers take tokens in; till then it is enough that a token's mask allows it. Tokens
    // without an alternative become known there, one token before they are foreseen. Otherwise a
    // request's mask is made as soon as its last token is there, and foretells what must follow.
    bool fills_aside = false;
  };
  explicit StructuredOutputManager(Options options);

  void Add(const EngineRequest& request) override;
  void Remove(RequestId id) override { requests_.erase(id); }
  Verdict Accept(RequestId id, TokenId token, bool may_end) override;
  void Foresee(RequestId id, int max_tokens, std::vector<TokenId>& tokens) override;
  Status FailureOf(RequestId id) const override;
  void PlaceMasks(StepPlan& plan) override;

  // Makes the masks of the plan that PlaceMasks saw last, which is still there.
  void FillMasks(std::uint64_t step_id, StepMasks& masks);

  // Forgets all requests.
  void Clear();

  std::size_t num_requests() const { return requests_.size(); }

 private:
  using Mask = std::span<const std::uint32_t>;
  struct Constrained {
    std::unique_ptr<ConstrainedAnswer> answer;
    std::int64_t num_accepted = 0;
    std::vector<std::uint32_t> mask;  // of the next token, where is_known
    bool is_known = false;
    // Of the step under way, where they are all that decides: before each draft and behind the
    // last.
    const std::uint32_t* step_masks = nullptr;
    std::size_t num_step_masks = 0;
    std::size_t num_step_tokens = 0;  // accepted in this step
    std::vector<TokenId> pending;     // accepted, but not yet taken in by the matcher
    // What must follow once `foreseen_at` tokens are accepted.
    std::vector<TokenId> foreseen;
    std::int64_t foreseen_at = -1;
  };
  struct Task {
    Constrained* request = nullptr;
    const ScheduledRow* row = nullptr;
  };
  using Scratch = std::vector<std::uint32_t>;  // a mask

  Mask MaskOf(Constrained& request) const;
  bool MayWait(const Constrained& request, TokenId token, std::size_t place) const;
  static bool TakeIn(Constrained& request);
  void FillRow(const Task& task, std::uint32_t* masks, Scratch& scratch) const;
  int FillDrafts(const Task& task, std::uint32_t* masks, ConstrainedAnswer& answer) const;
  void LookAhead(Constrained& request, Mask mask, Scratch& scratch) const;
  int Follow(Matcher& matcher, TokenId token, Scratch& scratch, std::vector<TokenId>& tokens,
             int max_tokens) const;
  bool HasOther(Mask mask) const;

  const std::size_t num_words_;
  const bool fills_aside_;
  TokenTexts texts_;
  std::unordered_map<RequestId, Constrained> requests_;
  std::size_t num_masks_ = 0;         // of the last plan
  std::vector<Task> tasks_;           // likewise
  std::unique_ptr<ThreadPool> pool_;  // once there were many masks at once
  std::vector<Scratch> scratch_;      // one a thread
};

}  // namespace quire
