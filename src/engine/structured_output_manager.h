// Where each constrained request stands in its grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "engine/constrained_answer.h"
#include "request/request.h"
#include "sched/token_constraint.h"

namespace quire {

// Engine thread only, but for the threads that it lends itself to fill many masks.
class StructuredOutputManager : public TokenConstraint {
 public:
  // Masks have a bit for each of the model's `vocab_size` tokens; `end_ids` are those that a
  // grammar allows at its end; `text_of` as in TokenTexts.
  StructuredOutputManager(std::int64_t vocab_size, std::vector<TokenId> end_ids,
                          std::function<std::string(TokenId)> text_of);

  void Add(const EngineRequest& request) override;
  void Remove(RequestId id) override { requests_.erase(id); }
  Verdict Accept(RequestId id, TokenId token, bool may_end) override;
  void Foresee(RequestId id, int max_tokens, std::vector<TokenId>& tokens) override;
  Status FailureOf(RequestId id) const override;
  void FillMasks(StepPlan& plan) override;

  // Forgets all requests.
  void Clear() { requests_.clear(); }

  std::size_t num_requests() const { return requests_.size(); }

 private:
  struct Constrained {
    std::unique_ptr<ConstrainedAnswer> answer;
    std::vector<std::uint32_t> mask;  // of the next token, where is_known
    bool is_known = false;
  };
  struct Task {
    Constrained* request = nullptr;
    const ScheduledRow* row = nullptr;
    std::uint32_t* masks = nullptr;
  };

  static const std::vector<std::uint32_t>& MaskOf(Constrained& request);
  void FillRow(const Task& task) const;
  int FillDrafts(const Task& task, ConstrainedAnswer& answer) const;
  bool HasOther(const std::vector<std::uint32_t>& mask) const;

  std::size_t num_words_;
  TokenTexts texts_;
  std::unordered_map<RequestId, Constrained> requests_;
  std::vector<Task> tasks_;  // kept for its memory
};

}  // namespace quire
