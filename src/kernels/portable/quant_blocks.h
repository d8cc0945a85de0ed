// Decoders of the block types: bytes to integer codes, scales and minima (kernels/quant.h).
//
// Each has  kValues, kBytes  of a block;  kSub  values of a sub-block;  kHasMin;  and
//   Decode(block, codes[kValues], scales[kValues / kSub], mins[kValues / kSub]).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "kernels/quant.h"

namespace quire::kernels {
namespace {

inline float HalfAt(const std::uint8_t* bytes) {
  F16 half;
  std::memcpy(&half, bytes, sizeof half);
  return ToFloat(half);
}

inline std::int8_t Code(int value) { return static_cast<std::int8_t>(value); }

// 16 bytes of nibbles: low ones are values 0-15, high ones 16-31.
template <typename Map>
void Nibbles(const std::uint8_t* bytes, std::int8_t* codes, Map map) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = Code(map(bytes[i] & 15, i));
    codes[i + 16] = Code(map(bytes[i] >> 4, i + 16));
  }
}

inline std::uint32_t Word(const std::uint8_t* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

struct Block32 {
  static constexpr int kValues = 32;
  static constexpr int kSub = 32;
};

struct Q4Zero : Block32 {
  static constexpr int kBytes = 18;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfAt(b);
    Nibbles(b + 2, codes, [](int q, int) { return q - 8; });
  }
};

struct Q4One : Block32 {
  static constexpr int kBytes = 20;
  static constexpr bool kHasMin = true;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float* mins) {
    scales[0] = HalfAt(b);
    mins[0] = HalfAt(b + 2);
    Nibbles(b + 4, codes, [](int q, int) { return q; });
  }
};

struct Q5Zero : Block32 {
  static constexpr int kBytes = 22;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfAt(b);
    const std::uint32_t high = Word(b + 2);
    Nibbles(b + 6, codes,
            [high](int q, int i) { return (q | static_cast<int>((high >> i & 1) << 4)) - 16; });
  }
};

struct Q5One : Block32 {
  static constexpr int kBytes = 24;
  static constexpr bool kHasMin = true;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float* mins) {
    scales[0] = HalfAt(b);
    mins[0] = HalfAt(b + 2);
    const std::uint32_t high = Word(b + 4);
    Nibbles(b + 8, codes,
            [high](int q, int i) { return q | static_cast<int>((high >> i & 1) << 4); });
  }
};

struct Q8Zero : Block32 {
  static constexpr int kBytes = 34;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfAt(b);
    std::memcpy(codes, b + 2, 32);
  }
};

struct Iq4Nl : Block32 {
  static constexpr int kBytes = 18;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfAt(b);
    Nibbles(b + 2, codes, [](int q, int) { return kIq4Codes[q]; });
  }
};

// 2^(exponent - 128), also where that is subnormal.
inline float HalfPowerOfTwo(std::uint8_t exponent) {
  const std::uint32_t bits =
      exponent < 2 ? 0x00200000U << exponent : static_cast<std::uint32_t>(exponent - 1) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Mxfp4 : Block32 {
  static constexpr int kBytes = 17;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfPowerOfTwo(b[0]);
    Nibbles(b + 1, codes, [](int q, int) { return kMxfp4Codes[q]; });
  }
};

// An unsigned float with 4 exponent and 3 mantissa bits.
inline float UnsignedE4M3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  if ((bits & 127) == 127) return 0.0F;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-9F;
  return static_cast<float>(8 + mantissa) * static_cast<float>(1 << exponent) * 0x1p-10F;
}

struct Nvfp4 {
  static constexpr int kValues = 64;
  static constexpr int kSub = 16;
  static constexpr int kBytes = 36;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    for (int s = 0; s < 4; ++s) {
      scales[s] = UnsignedE4M3(b[s]) * 0.5F;
      for (int i = 0; i < 8; ++i) {
        const std::uint8_t pair = b[4 + 8 * s + i];
        codes[16 * s + i] = kMxfp4Codes[pair & 15];
        codes[16 * s + 8 + i] = kMxfp4Codes[pair >> 4];
      }
    }
  }
};

struct Q2K {
  static constexpr int kValues = 256;
  static constexpr int kSub = 16;
  static constexpr int kBytes = 84;
  static constexpr bool kHasMin = true;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float* mins) {
    const float d = HalfAt(b + 80);
    const float dmin = HalfAt(b + 82);
    for (int s = 0; s < 16; ++s) {
      scales[s] = d * static_cast<float>(b[s] & 15);
      mins[s] = -dmin * static_cast<float>(b[s] >> 4);
    }
    for (int i = 0; i < 256; ++i) {
      codes[i] = Code(b[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3);
    }
  }
};

struct Q3K {
  static constexpr int kValues = 256;
  static constexpr int kSub = 16;
  static constexpr int kBytes = 110;
  static constexpr bool kHasMin = false;
  static int ScaleAt(const std::uint8_t* b, int s) {
    const std::uint8_t* packed = b + 96;
    const int low = packed[s % 8] >> (s / 8 * 4) & 15;
    const int high = packed[8 + s % 4] >> (s / 4 * 2) & 3;
    return (low | high << 4) - 32;
  }
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    const float d = HalfAt(b + 108);
    for (int s = 0; s < 16; ++s) scales[s] = d * static_cast<float>(ScaleAt(b, s));
    for (int i = 0; i < 256; ++i) {
      const int low = b[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      const int high = b[i % 32] >> (i / 32) & 1;
      codes[i] = Code(low + 4 * high - 4);
    }
  }
};

// The 6-bit scale and minimum of sub-block `s` in the 12 bytes of Q4_K and Q5_K.
inline int ScaleOf(const std::uint8_t* packed, int s) {
  return s < 4 ? packed[s] & 63 : (packed[s + 4] & 15) | (packed[s - 4] >> 6) << 4;
}
inline int MinOf(const std::uint8_t* packed, int s) {
  return s < 4 ? packed[s + 4] & 63 : packed[s + 4] >> 4 | (packed[s] >> 6) << 4;
}

inline void ScalesAndMins(const std::uint8_t* b, float* scales, float* mins) {
  const float d = HalfAt(b);
  const float dmin = HalfAt(b + 2);
  for (int s = 0; s < 8; ++s) {
    scales[s] = d * static_cast<float>(ScaleOf(b + 4, s));
    mins[s] = -dmin * static_cast<float>(MinOf(b + 4, s));
  }
}

struct Q4K {
  static constexpr int kValues = 256;
  static constexpr int kSub = 32;
  static constexpr int kBytes = 144;
  static constexpr bool kHasMin = true;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float* mins) {
    ScalesAndMins(b, scales, mins);
    for (int i = 0; i < 256; ++i) {
      codes[i] = Code(b[16 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15);
    }
  }
};

struct Q5K {
  static constexpr int kValues = 256;
  static constexpr int kSub = 32;
  static constexpr int kBytes = 176;
  static constexpr bool kHasMin = true;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float* mins) {
    ScalesAndMins(b, scales, mins);
    for (int i = 0; i < 256; ++i) {
      const int low = b[48 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
      const int high = b[16 + i % 32] >> (i / 32) & 1;
      codes[i] = Code(low | high << 4);
    }
  }
};

struct Q6K {
  static constexpr int kValues = 256;
  static constexpr int kSub = 16;
  static constexpr int kBytes = 210;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    const float d = HalfAt(b + 208);
    for (int s = 0; s < 16; ++s) {
      scales[s] = d * static_cast<float>(static_cast<std::int8_t>(b[192 + s]));
    }
    for (int i = 0; i < 256; ++i) {
      const int low = b[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
      const int high = b[128 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      codes[i] = Code((low | high << 4) - 32);
    }
  }
};

struct Iq4Xs {
  static constexpr int kValues = 256;
  static constexpr int kSub = 32;
  static constexpr int kBytes = 136;
  static constexpr bool kHasMin = false;
  static int ScaleAt(const std::uint8_t* b, int s) {
    const int low = b[4 + s / 2] >> (s % 2 * 4) & 15;
    const int high = (b[2] | b[3] << 8) >> (2 * s) & 3;
    return (low | high << 4) - 32;
  }
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    const float d = HalfAt(b);
    for (int s = 0; s < 8; ++s) {
      scales[s] = d * static_cast<float>(ScaleAt(b, s));
      Nibbles(b + 8 + 16 * s, codes + 32 * s, [](int q, int) { return kIq4Codes[q]; });
    }
  }
};

struct Tq2Zero {
  static constexpr int kValues = 256;
  static constexpr int kSub = 256;
  static constexpr int kBytes = 66;
  static constexpr bool kHasMin = false;
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfAt(b + 64);
    for (int i = 0; i < 256; ++i) {
      codes[i] = Code((b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1);
    }
  }
};

struct Tq1Zero {
  static constexpr int kValues = 256;
  static constexpr int kSub = 256;
  static constexpr int kBytes = 54;
  static constexpr bool kHasMin = false;
  // Digit `n` of a byte that holds five base-3 digits as a fraction of 256.
  static std::int8_t Digit(std::uint8_t byte, int n) {
    constexpr int kPowers[5] = {1, 3, 9, 27, 81};
    const auto fraction = static_cast<std::uint8_t>(byte * kPowers[n]);
    return Code((fraction * 3 >> 8) - 1);
  }
  static void Decode(const std::uint8_t* b, std::int8_t* codes, float* scales, float*) {
    scales[0] = HalfAt(b + 52);
    for (int i = 0; i < 160; ++i) codes[i] = Digit(b[i % 32], i / 32);
    for (int i = 0; i < 80; ++i) codes[160 + i] = Digit(b[32 + i % 16], i / 16);
    for (int i = 0; i < 16; ++i) codes[240 + i] = Digit(b[48 + i % 4], i / 4);
  }
};

}  // namespace
}  // namespace quire::kernels
