// The block tables of a batch, laid out as attention reads them and kept from step to step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace quire {

// [max_requests, max_blocks] block ids of one KV group. Row i belongs to the request at place i of
// the batch. Entries past a row's blocks hold what was there before and are not read. One thread.
class BatchBlockTable {
 public:
  static Result<BatchBlockTable> Allocate(std::int32_t max_requests, std::int32_t max_blocks);
  BatchBlockTable() = default;

  // Makes row `row_idx` equal to `blocks`.
  void Assign(std::int32_t row_idx, std::span<const std::int32_t> blocks);
  // Puts `blocks` after the row's first `start` ones.
  void Append(std::int32_t row_idx, std::size_t start, std::span<const std::int32_t> blocks);

  std::span<const std::int32_t> values() const;
  std::int32_t max_blocks() const { return max_blocks_; }

 private:
  std::int32_t* Row(std::int32_t row_idx);

  Buffer buffer_;
  std::int32_t max_requests_ = 0;
  std::int32_t max_blocks_ = 0;
};

}  // namespace quire
