// Block-quantized weight types: what their bytes mean. Contract for every variant.
//
// A block is a run of 32 (or 256, for the K types) values of one row. A value is code * s + m,
// where s and m belong to its sub-block; m is 0 for types without minima. Little endian; `d` is
// f16.
//   Q4_0    d, 16 bytes: low nibbles are values 0-15, high ones 16-31; code = nibble - 8, s = d
//   Q4_1    d, m, 16 bytes: as Q4_0 with code = nibble
//   Q5_0    d, 32 high bits, 16 bytes: code = nibble + 16 * bit - 16
//   Q5_1    d, m, 32 high bits, 16 bytes: code = nibble + 16 * bit
//   Q8_0    d, 32 signed bytes
//   IQ4_NL  d, 16 bytes: nibbles index kIq4Codes
//   MXFP4   exponent byte e, 16 bytes: nibbles index kMxfp4Codes; s = 2^(e - 128)
//   NVFP4   64 values: 4 scales (unsigned e4m3, of 16 values each), 32 bytes, 8 a sub-block: low
//           nibbles first; codes as MXFP4; s = scale / 2
//   Q2_K    16 bytes (low nibble scale, high nibble minimum, of 16 values each), 64 bytes of 2
//   bits,
//           d, dmin: s = d * scale, m = -dmin * minimum
//   Q3_K    32 bytes of high bits, 64 bytes of 2 bits, 12 bytes of 6-bit scales (of 16 values), d:
//           code = 2 bits + 4 * bit - 4, s = d * (scale - 32)
//   Q4_K    d, dmin, 12 bytes of 6-bit scales and minima (of 32 values), 128 bytes of nibbles
//   Q5_K    d, dmin, 12 bytes as Q4_K, 32 bytes of high bits, 128 bytes of nibbles
//   Q6_K    128 bytes of low nibbles, 64 bytes of 2 high bits, 16 signed scales (of 16 values), d:
//           code = 6 bits - 32, s = d * scale
//   IQ4_XS  d, 16 high scale bits, 4 bytes of low scale nibbles, 128 bytes of nibbles that index
//           kIq4Codes; s = d * (scale - 32), of 32 values
//   TQ1_0   48 + 4 bytes of base-3 digits, d: code = digit - 1
//   TQ2_0   64 bytes of 2 bits, d: code = 2 bits - 1
#pragma once

#include <cstddef>
#include <cstdint>

namespace quire::kernels {

// Not inline: a copy per source keeps ISA objects free of shared symbols.
constexpr std::int8_t kIq4Codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
// Twice the values of a 4-bit float with 2 exponent bits and 1 mantissa bit.
constexpr std::int8_t kMxfp4Codes[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// out[i] = value i of `values` values of the slot's type, which are whole blocks:
// fma(code, s, m), or code * s without minima; conversions of plain types are exact.
using DequantizeFn = void (*)(const std::byte* source, std::int64_t values, float* out);

}  // namespace quire::kernels
