// A ready OpContext for the tests of operators, and of folders above.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/testing.h"
#include "ops/context.h"
#include "ops/linear.h"

namespace quire::ops {

// Owns what a context borrows; the table is that of the ISA under test.
struct TestContext {
  explicit TestContext(int num_threads = 1) : pool({.num_threads = num_threads, .pin = false}) {}
  ThreadPool pool;
  Scratch scratch;
  OpContext ctx = {&kernels::TableUnderTest(), &pool, &scratch};
};

// All types that a weight may have.
inline std::vector<DType> WeightTypes() {
  std::vector<DType> types;
  for (int i = 0; i < kernels::kNumDTypes; ++i) {
    if (LinearWeight::IsSupported(static_cast<DType>(i))) types.push_back(static_cast<DType>(i));
  }
  return types;
}

// The bytes of so many values of a weight type, of moderate size.
inline std::vector<std::byte> RandomWeights(DType type, std::int64_t values, std::uint64_t seed) {
  const DTypeLayout layout = LayoutOf(type);
  if (layout.block_values > 1) {
    return kernels::RandomBlocks(type, values / layout.block_values, seed);
  }
  auto bytes = kernels::RandomBytes(static_cast<std::size_t>(*BytesOf(type, values)), seed);
  const auto width = static_cast<std::size_t>(layout.block_bytes);
  for (std::size_t i = width - 1; i < bytes.size(); i += width) {
    bytes[i] = (bytes[i] & std::byte{0x83}) | std::byte{0x34};
  }
  return bytes;
}

}  // namespace quire::ops
