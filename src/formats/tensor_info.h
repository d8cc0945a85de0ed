// What a checkpoint file says of one tensor: name, element type, shape and where its bytes are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace quire {

struct TensorInfo {
  std::string name;
  DType type;
  std::vector<std::int64_t> shape;  // outermost first, as in safetensors; GGUF's are turned round
  int file_idx = 0;                 // which of the checkpoint's files holds it
  std::uint64_t offset = 0;         // from the start of that file, in bytes
  std::uint64_t num_bytes = 0;
};

}  // namespace quire
