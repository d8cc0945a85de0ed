#include "ops/weight_arena.h"

#include <algorithm>

namespace quire::ops {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 20;
constexpr std::size_t kAlignment = 64;

}  // namespace

Result<std::shared_ptr<std::byte>> WeightArena::Take(std::size_t num_bytes) {
  if (buffer_ == nullptr || num_bytes > buffer_->size() - used_) {
    // What is left of the buffer before stays untouched, so it takes no memory.
    QUIRE_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(std::max(num_bytes, kBufferBytes)));
    buffer_ = std::make_shared<Buffer>(std::move(buffer));
    used_ = 0;
  }
  std::shared_ptr<std::byte> piece(buffer_, buffer_->data() + used_);
  used_ = std::min(buffer_->size(), (used_ + num_bytes + kAlignment - 1) / kAlignment * kAlignment);
  return piece;
}

}  // namespace quire::ops
