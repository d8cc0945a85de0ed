#include "exec/executor.h"

namespace quire {

Status Executor::Reset() { return Unimplemented("this executor cannot be started again"); }

Status Executor::EvaluateLogits(
    std::span<const TokenId> /*ids*/,
    const std::function<void(std::int64_t row, std::span<const float>)>& /*consume*/) {
  return Unimplemented("this executor gives no logits");
}

}  // namespace quire
