// The specification of products with int8 activations, and of their quantization.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/fill.h"
#include "kernels/matmul.h"
#include "kernels/portable/quant_blocks.h"
#include "kernels/table.h"

namespace quire::kernels {
namespace {

// The least scale of two powers that is at least `scale`, a normal number.
float RoundedUp(float scale) {
  int exponent = 0;
  const float sixteenths = 32.0F * std::frexp(scale, &exponent);  // in [16, 32)
  for (const float most : {16.0F, 17.0F, 18.0F, 20.0F, 24.0F, 28.0F, 30.0F, 31.0F}) {
    if (sixteenths <= most) return std::ldexp(most, exponent - 5);
  }
  return std::ldexp(1.0F, exponent);
}

// The parts of a scale of two powers.
struct Parts {
  std::int32_t start;
  std::int32_t step;
};
Parts PartsOf(float scale) {
  if (scale == 0.0F) return {kStartBits, 0};
  if (std::isnan(scale)) return {std::bit_cast<std::int32_t>(scale), 0};
  float first = std::exp2(std::floor(std::log2(scale)));
  if (scale == first) {
    first /= 2;
  } else if (scale > 1.5F * first) {
    first *= 2;
  }
  constexpr float kStart = std::bit_cast<float>(kStartBits);
  const auto start = std::bit_cast<std::uint32_t>(kStart * first);
  const auto second = std::bit_cast<std::uint32_t>(kStart * (scale - first));
  return {static_cast<std::int32_t>(start), static_cast<std::int32_t>(second - start)};
}

template <ScaleRule kRule>
void QuantizeBlock(const float* x, std::int8_t* codes, float& scale) {
  int max_bits = 0;  // magnitudes sort as their bits do, infinity and NaN above all
  for (int i = 0; i < kQuantValues; ++i) {
    max_bits = std::max(max_bits, std::bit_cast<int>(x[i]) & 0x7FFFFFFF);
  }
  const bool is_bad = max_bits >= kQuantHugeBits;
  if (is_bad || std::bit_cast<float>(max_bits) < kQuantTiny) {
    scale = is_bad ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
    std::fill_n(codes, kQuantValues, std::int8_t{0});
    return;
  }
  const float max = std::bit_cast<float>(max_bits);
  scale = max / kQuantCodes;
  float inverse = kQuantCodes / max;
  if constexpr (kRule == ScaleRule::kTwoPowers) {
    scale = RoundedUp(scale);
    inverse = 1.0F / scale;
  }
  for (int i = 0; i < kQuantValues; ++i) {
    codes[i] = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
  }
}

template <ScaleRule kRule>
void Quantize(const QuantizeArgs& args) {
  const std::int64_t stride = args.panel_rows;
  for (std::int64_t b = 0; b < args.blocks; ++b) {
    for (std::int64_t r = 0; r < args.rows; ++r) {
      const std::int64_t row = args.first_row + r;
      std::int8_t* codes = args.out.codes + (b * stride + row) * kQuantValues;
      float& scale = args.out.scales[b * stride + row];
      QuantizeBlock<kRule>(args.x + r * args.x_stride + b * kQuantValues, codes, scale);
      if constexpr (kRule == ScaleRule::kTwoPowers) {
        const Parts parts = PartsOf(scale);
        args.out.parts[2 * b * stride + row] = parts.start;
        args.out.parts[(2 * b + 1) * stride + row] = parts.step;
      }
      std::int32_t sums[3] = {};
      for (int i = 0; i < kQuantValues; ++i) sums[i / 16] += codes[i];
      sums[2] = sums[0] + sums[1];
      for (int k = 0; k < 3; ++k) {
        args.out.negative_sums[(3 * b + k) * stride + row] = -sums[k];
        args.out.scaled_sums[(3 * b + k) * stride + row] = scale * static_cast<float>(sums[k]);
      }
    }
  }
}

// One block of one row of weights against one row of activations.
template <typename Type>
struct Decoded {
  static constexpr int kSub = Type::kSub < kQuantValues ? Type::kSub : kQuantValues;
  std::int8_t codes[Type::kValues];
  float scales[Type::kValues / Type::kSub];
  float mins[Type::kValues / Type::kSub];

  // `b` is the index of the block's first 32 values.
  float AddTo(float sum, const MatmulQuantArgs& args, std::int64_t r, std::int64_t b) const {
    for (int i = 0; i < Type::kValues; i += kSub) {
      const std::int64_t block = b + i / kQuantValues;
      const std::int8_t* x =
          args.x.codes + (block * args.rows + r) * kQuantValues + i % kQuantValues;
      std::int32_t dot = 0;
      for (int j = 0; j < kSub; ++j) dot += codes[i + j] * x[j];
      const float scaled_dot = static_cast<float>(dot) * args.x.scales[block * args.rows + r];
      sum = std::fma(scaled_dot, scales[i / Type::kSub], sum);
      if constexpr (Type::kHasMin) {
        const int which = kSub == kQuantValues ? 2 : i % kQuantValues / kSub;
        const float scaled = args.x.scaled_sums[(3 * block + which) * args.rows + r];
        sum = std::fma(mins[i / Type::kSub], scaled, sum);
      }
    }
    return sum;
  }
};

template <typename Type>
void Matmul(const MatmulQuantArgs& args) {
  constexpr int kBlocksEach = Type::kValues / kQuantValues;
  const std::int64_t row_bytes = args.blocks / kBlocksEach * Type::kBytes;
  for (std::int64_t o = 0; o < args.outputs; ++o) {
    const auto* block = reinterpret_cast<const std::uint8_t*>(args.tiles) + o * row_bytes;
    float sums[kPanelRows] = {};
    for (std::int64_t b = 0; b < args.blocks; b += kBlocksEach, block += Type::kBytes) {
      Decoded<Type> weights;
      Type::Decode(block, weights.codes, weights.scales, weights.mins);
      for (std::int64_t r = 0; r < args.rows; ++r) sums[r] = weights.AddTo(sums[r], args, r, b);
    }
    for (std::int64_t r = 0; r < args.rows; ++r) {
      float& out = args.out[r * args.out_stride + o];
      const float sum = args.bias != nullptr ? sums[r] + args.bias[o] : sums[r];
      out = args.accumulate ? out + sum : sum;
    }
  }
}

template <typename Type>
constexpr QuantKernel KernelOf() {
  return {Matmul<Type>, nullptr, 1, Type::kBytes};
}

}  // namespace

void FillPortableMatmulQuant(CpuTable& table) {
  table.quantize = table.scale_rule == ScaleRule::kTwoPowers ? Quantize<ScaleRule::kTwoPowers>
                                                             : Quantize<ScaleRule::kExact>;
  const auto set = [&table](DType type, const QuantKernel& kernel) {
    table.quant[static_cast<int>(type)] = kernel;
  };
  set(DType::kQ4_0, KernelOf<Q4Zero>());
  set(DType::kQ4_1, KernelOf<Q4One>());
  set(DType::kQ5_0, KernelOf<Q5Zero>());
  set(DType::kQ5_1, KernelOf<Q5One>());
  set(DType::kQ8_0, KernelOf<Q8Zero>());
  set(DType::kQ2_K, KernelOf<Q2K>());
  set(DType::kQ3_K, KernelOf<Q3K>());
  set(DType::kQ4_K, KernelOf<Q4K>());
  set(DType::kQ5_K, KernelOf<Q5K>());
  set(DType::kQ6_K, KernelOf<Q6K>());
  set(DType::kIQ4_NL, KernelOf<Iq4Nl>());
  set(DType::kIQ4_XS, KernelOf<Iq4Xs>());
  set(DType::kMXFP4, KernelOf<Mxfp4>());
}

}  // namespace quire::kernels
