#include "runner/batch_block_table.h"

#include <algorithm>

namespace quire {

Result<BatchBlockTable> BatchBlockTable::Allocate(std::int32_t max_requests,
                                                  std::int32_t max_blocks) {
  BatchBlockTable table;
  table.max_requests_ = max_requests;
  table.max_blocks_ = max_blocks;
  const std::size_t num_values =
      static_cast<std::size_t>(max_requests) * static_cast<std::size_t>(max_blocks);
  QUIRE_ASSIGN_OR_RETURN(table.buffer_, Buffer::Allocate(num_values * sizeof(std::int32_t)));
  return table;
}

std::int32_t* BatchBlockTable::Row(std::int32_t row_idx) {
  QUIRE_DCHECK(row_idx < max_requests_);
  return reinterpret_cast<std::int32_t*>(buffer_.data()) +
         static_cast<std::int64_t>(row_idx) * max_blocks_;
}

void BatchBlockTable::Assign(std::int32_t row_idx, std::span<const std::int32_t> blocks) {
  Append(row_idx, 0, blocks);
}

void BatchBlockTable::Append(std::int32_t row_idx, std::size_t start,
                             std::span<const std::int32_t> blocks) {
  QUIRE_DCHECK(start + blocks.size() <= static_cast<std::size_t>(max_blocks_));
  std::copy(blocks.begin(), blocks.end(), Row(row_idx) + start);
}

std::span<const std::int32_t> BatchBlockTable::values() const {
  return {reinterpret_cast<const std::int32_t*>(buffer_.data()),
          static_cast<std::size_t>(max_requests_) * static_cast<std::size_t>(max_blocks_)};
}

}  // namespace quire
