// Tensors: who owns the bytes (Buffer), and typed, shaped views of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

#include "base/dtype.h"
#include "base/log.h"
#include "base/status.h"

namespace quire {

inline constexpr int kMaxRank = 4;

// Sizes of up to kMaxRank dimensions, outermost first.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) {
    QUIRE_CHECK(dims.size() <= kMaxRank);
    for (const std::int64_t dim : dims) dims_[static_cast<std::size_t>(rank_++)] = dim;
  }
  constexpr int rank() const { return rank_; }
  constexpr std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  constexpr std::int64_t num_values() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= (*this)[i];
    return product;
  }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_ = {};
  int rank_ = 0;
};

// A contiguous tensor that somebody else owns. `Byte` is std::byte or const std::byte.
template <typename Byte>
class BasicTensorView {
 public:
  BasicTensorView() = default;
  BasicTensorView(Byte* data, DType dtype, const Shape& shape)
      : data_(data), dtype_(dtype), shape_(shape) {}
  // A view that may write is also one that may read. A template, so that it is no copy constructor.
  template <typename Other>
  requires(std::is_const_v<Byte>&& std::is_same_v<Other, std::byte>)
      BasicTensorView(const BasicTensorView<Other>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), dtype_(other.dtype()), shape_(other.shape()) {}

  Byte* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return shape_[i]; }
  bool empty() const { return data_ == nullptr; }

  // The values as T, which must be the type that dtype() names.
  template <typename T>
  auto* values() const {
    if constexpr (std::is_const_v<Byte>) {
      return reinterpret_cast<const T*>(data_);
    } else {
      return reinterpret_cast<T*>(data_);
    }
  }
  auto* f32() const {
    QUIRE_DCHECK(dtype_ == DType::kF32);
    return values<float>();
  }

 private:
  Byte* data_ = nullptr;
  DType dtype_ = DType::kF32;
  Shape shape_;
};
using TensorView = BasicTensorView<std::byte>;
using ConstTensorView = BasicTensorView<const std::byte>;

inline TensorView F32View(float* data, const Shape& shape) {
  return {reinterpret_cast<std::byte*>(data), DType::kF32, shape};
}
inline ConstTensorView F32View(const float* data, const Shape& shape) {
  return {reinterpret_cast<const std::byte*>(data), DType::kF32, shape};
}

// Memory for tensor data, aligned to 64 bytes (to 2 MiB and advised as huge pages from 4 MiB up),
// zero at first. Bytes that are never touched take no memory.
class Buffer {
 public:
  Buffer() = default;
  // kResourceExhausted when the system has no such room.
  static Result<Buffer> Allocate(std::size_t num_bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  float* f32() { return reinterpret_cast<float*>(data_.get()); }
  const float* f32() const { return reinterpret_cast<const float*>(data_.get()); }

 private:
  struct Unmap {
    std::size_t num_bytes;  // of the mapping
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Unmap> data_;
  std::size_t size_ = 0;
};

}  // namespace quire
