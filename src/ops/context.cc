#include "ops/context.h"

#include <algorithm>

namespace quire::ops {

std::byte* Scratch::Get(std::size_t num_bytes) {
  if (num_bytes > buffer_.size()) {
    // Half as much again, so that slowly growing wishes do not each allocate.
    Result<Buffer> buffer = Buffer::Allocate(std::max(num_bytes, buffer_.size() / 2 * 3));
    QUIRE_CHECK(buffer.ok()) << buffer.status().message();
    buffer_ = *std::move(buffer);
  }
  return buffer_.data();
}

}  // namespace quire::ops
