#include "tensor/tensor.h"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(Buffer, IsZeroAndAlignedForItsSize) {
  for (const std::size_t bytes : {1UL, 64UL, 4096UL, 100'000UL, 5UL << 20}) {
    Result<Buffer> buffer = Buffer::Allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    const auto address = reinterpret_cast<std::uintptr_t>(buffer->data());
    EXPECT_EQ(address % (bytes >= (4UL << 20) ? (2UL << 20) : 64), 0U);
    EXPECT_EQ(buffer->data()[0], std::byte{0});
    EXPECT_EQ(buffer->data()[bytes - 1], std::byte{0});
    (*buffer).data()[bytes - 1] = std::byte{1};
  }
}

TEST(Buffer, OfNoBytesHasNone) {
  const Result<Buffer> buffer = Buffer::Allocate(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->data(), nullptr);
}

TEST(Buffer, SaysSoWhenThereIsNoRoom) {
  for (const std::size_t bytes : {std::size_t{1} << 62, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_EQ(Buffer::Allocate(bytes).status().code(), Code::kResourceExhausted);
  }
}

TEST(Buffer, KeepsItsBytesWhenMoved) {
  Buffer first = *Buffer::Allocate(16);
  first.f32()[3] = 2.5F;
  Buffer second = std::move(first);
  EXPECT_EQ(second.f32()[3], 2.5F);
  EXPECT_EQ(second.size(), 16U);
}

TEST(TensorView, KnowsItsShape) {
  float values[6] = {};
  const TensorView view = F32View(values, {2, 3});
  EXPECT_EQ(view.shape().num_values(), 6);
  EXPECT_EQ(view.dim(1), 3);
  EXPECT_EQ(ConstTensorView(view).f32(), values);
  EXPECT_EQ(Shape({}).num_values(), 1);
}

}  // namespace
}  // namespace quire
