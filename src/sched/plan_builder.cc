#include "sched/plan_builder.h"

#include <utility>

namespace quire {

void PlanBuilder::Begin() {
  if (!plan_.rows.empty() && !has_failed_) plan_.finished.clear();
  has_failed_ = false;
  plan_.finished.insert(plan_.finished.end(), finished_since_.begin(), finished_since_.end());
  finished_since_.clear();
  plan_.new_requests.clear();
  ++plan_.step_id;
  num_rows_ = 0;
  is_building_ = true;
}

ScheduledRow& PlanBuilder::AddRow(RequestId id) {
  if (num_rows_ == plan_.rows.size()) {
    if (spare_.empty()) {
      plan_.rows.emplace_back();
    } else {
      plan_.rows.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  ScheduledRow& row = plan_.rows[num_rows_++];
  row.id = id;
  row.num_computed_tokens = row.num_new_tokens = 0;
  row.draft_tokens.clear();
  row.new_blocks.resize(static_cast<std::size_t>(num_groups_));
  for (auto& blocks : row.new_blocks) blocks.clear();
  row.samples = false;
  row.grammar_row = -1;
  row.forced_token = -1;
  return row;
}

void PlanBuilder::AddFinished(RequestId id) {
  (is_building_ ? plan_.finished : finished_since_).push_back(id);
}

const StepPlan& PlanBuilder::Finish() {
  while (plan_.rows.size() > num_rows_) {
    spare_.push_back(std::move(plan_.rows.back()));
    plan_.rows.pop_back();
  }
  plan_.num_tokens = 0;
  for (const ScheduledRow& row : plan_.rows) plan_.num_tokens += row.num_new_tokens;
  is_building_ = false;
  return plan_;
}

}  // namespace quire
