// Fills a StepPlan again and again without giving its memory back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "step/plan.h"

namespace quire {

// Owns the plan. Rows that a smaller step does not need are kept aside with the capacity of their
// lists, so a plan of a size seen before allocates nothing.
class PlanBuilder {
 public:
  explicit PlanBuilder(std::int32_t num_groups) : num_groups_(num_groups) {}

  // Starts the next plan with the requests that ended since the last one. Those of a plan that no
  // worker need have seen, because it had no rows or failed, are listed again.
  void Begin();

  // The plan given last may not have reached every worker.
  void MarkFailed() { has_failed_ = true; }

  // A row with its lists empty, `new_blocks` with one list a group. Valid until the next AddRow.
  ScheduledRow& AddRow(RequestId id);

  // Takes back the row added last.
  void DropLastRow() { --num_rows_; }

  NewRequestData& AddNewRequest() { return plan_.new_requests.emplace_back(); }

  // A request that workers are to forget; any time.
  void AddFinished(RequestId id);

  // Ends the plan, which stays as it is until the next Begin.
  const StepPlan& Finish();

  const StepPlan& plan() const { return plan_; }
  // After Finish, for what is decided once all rows are there.
  StepPlan& finished_plan() { return plan_; }

 private:
  std::int32_t num_groups_;
  std::size_t num_rows_ = 0;  // of plan_.rows that belong to the plan being built
  bool is_building_ = false;
  bool has_failed_ = false;
  std::vector<ScheduledRow> spare_;
  std::vector<RequestId> finished_since_;  // the plan was ended
  StepPlan plan_;
};

}  // namespace quire
