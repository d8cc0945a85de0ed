// A worker on a thread of its own, which sees plans and gives results as bytes only.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "exec/executor.h"

namespace quire {

// Makes the worker's own executor, on the worker's thread.
using ExecutorFactory = std::function<Result<std::unique_ptr<Executor>>()>;

// The step's path of a worker in another process, without the process: each plan is encoded,
// decoded by the worker, and its result comes back the same way. What `make_executor` fails with is
// the result. One thread at a time may call it.
Result<std::unique_ptr<Executor>> CreateThreadExecutor(const ExecutorFactory& make_executor);

}  // namespace quire
