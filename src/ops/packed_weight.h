// What a LinearWeight holds; only ops looks inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/matmul.h"
#include "kernels/quant.h"
#include "ops/linear.h"

namespace quire::ops {

struct LinearWeight::Packed {
  enum class Path {
    kFloat,   // plain values, f32 activations
    kBf16,    // bf16 values, activations rounded to bf16
    kQuant,   // tiles, int8 activations
    kExpand,  // checkpoint blocks, dequantized on the way; f32 activations
  };
  DType dtype = DType::kF32;
  std::int64_t out_features = 0;
  std::int64_t in_features = 0;
  Path path = Path::kFloat;
  std::size_t num_bytes = 0;
  const std::byte* data = nullptr;
  // What `data` points to where the checkpoint's layout does not suit.
  std::shared_ptr<std::byte> copy;

  kernels::MatmulFloatFn matmul_float = nullptr;  // kFloat; kExpand: of F32
  kernels::MatmulBf16Fn matmul_bf16 = nullptr;    // kBf16
  kernels::DequantizeFn dequantize = nullptr;     // kExpand
  kernels::QuantKernel quant;                     // kQuant

  // Bytes of one row in the checkpoint's layout, and of one tile.
  std::int64_t row_bytes() const { return static_cast<std::int64_t>(*BytesOf(dtype, in_features)); }
  std::int64_t tile_bytes() const {
    return in_features / LayoutOf(dtype).block_values * quant.tile_block_bytes;
  }
};

}  // namespace quire::ops
