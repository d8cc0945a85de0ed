// The specification of dequantization.
#include <cmath>

#include "kernels/fill.h"
#include "kernels/portable/plain_types.h"
#include "kernels/portable/quant_blocks.h"
#include "kernels/quant.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

template <typename Type>
void Dequantize(const std::byte* source, std::int64_t values, float* out) {
  const auto* block = reinterpret_cast<const std::uint8_t*>(source);
  std::int8_t codes[Type::kValues];
  float scales[Type::kValues / Type::kSub];
  float mins[Type::kValues / Type::kSub];
  for (std::int64_t start = 0; start < values; start += Type::kValues) {
    Type::Decode(block, codes, scales, mins);
    for (int i = 0; i < Type::kValues; ++i) {
      // The minimum is at most one bit finer than the product, which is exact or rounded once.
      const float product = static_cast<float>(codes[i]) * scales[i / Type::kSub];
      out[start + i] = Type::kHasMin ? product + mins[i / Type::kSub] : product;
    }
    block += Type::kBytes;
  }
}

template <typename T>
void Widen(const std::byte* source, std::int64_t values, float* out) {
  const T* in = reinterpret_cast<const T*>(source);
  for (std::int64_t i = 0; i < values; ++i) out[i] = Load(in[i]);
}

}  // namespace

void FillPortableDequantize(CpuTable& table) {
  const auto set = [&table](DType type, DequantizeFn function) {
    table.dequantize[static_cast<int>(type)] = function;
  };
  set(DType::kF32, Widen<float>);
  set(DType::kF16, Widen<F16>);
  set(DType::kBF16, Widen<Bf16>);
  set(DType::kQ4_0, Dequantize<Q4Zero>);
  set(DType::kQ4_1, Dequantize<Q4One>);
  set(DType::kQ5_0, Dequantize<Q5Zero>);
  set(DType::kQ5_1, Dequantize<Q5One>);
  set(DType::kQ8_0, Dequantize<Q8Zero>);
  set(DType::kQ2_K, Dequantize<Q2K>);
  set(DType::kQ3_K, Dequantize<Q3K>);
  set(DType::kQ4_K, Dequantize<Q4K>);
  set(DType::kQ5_K, Dequantize<Q5K>);
  set(DType::kQ6_K, Dequantize<Q6K>);
  set(DType::kIQ4_NL, Dequantize<Iq4Nl>);
  set(DType::kIQ4_XS, Dequantize<Iq4Xs>);
  set(DType::kTQ1_0, Dequantize<Tq1Zero>);
  set(DType::kTQ2_0, Dequantize<Tq2Zero>);
  set(DType::kMXFP4, Dequantize<Mxfp4>);
  set(DType::kNVFP4, Dequantize<Nvfp4>);
}

}  // namespace quire::kernels
