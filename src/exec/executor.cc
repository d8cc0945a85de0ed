#include "exec/executor.h"

namespace quire {

Status Executor::Execute(const StepPlan& plan, StepResult& out) {
  QUIRE_RETURN_IF_ERROR(Begin(plan));
  return Finish(plan, {.step_id = plan.step_id, .words = {}}, out);
}

Status Executor::Reset() { return Unimplemented("this executor cannot be started again"); }

Status Executor::EvaluateLogits(
    std::span<const TokenId> /*ids*/,
    const std::function<void(std::int64_t row, std::span<const float>)>& /*consume*/) {
  return Unimplemented("this executor gives no logits");
}

}  // namespace quire
