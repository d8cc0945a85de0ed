// Memory for packed weights.
#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"
#include "tensor/tensor.h"

namespace quire::ops {

// Hands out pieces of large buffers, which the system backs with huge pages: weights are read once
// a step from end to end, and with small pages a fifth of that time goes to finding them. A piece
// keeps its buffer alive, so the arena itself may go once a model is loaded. One thread at a time.
class WeightArena {
 public:
  // `num_bytes` bytes, aligned to 64, zero. kResourceExhausted when there is no room.
  Result<std::shared_ptr<std::byte>> Take(std::size_t num_bytes);

 private:
  std::shared_ptr<Buffer> buffer_;
  std::size_t used_ = 0;
};

}  // namespace quire::ops
