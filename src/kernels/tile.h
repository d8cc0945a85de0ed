// How quantized weights are laid out for vector units: tiles of N outputs side by side, N being the
// f32 lanes of a register (8 for AVX2, 16 for AVX-512), or of two (8 for 64-bit Arm).
//
// A tile holds N rows of weights, block of the type after block: the scales of a block, then its
// codes, so that reading a tile goes through memory once and forwards, as the processor expects
// (two streams, of scales and of codes, halve the speed when rows are short). Four consecutive
// values of an output form a group, as wide as one f32 lane; group g of a block holds values 4g to
// 4g+3. A "row" is 4N bytes: one group of each of the N outputs.
//
//   nibbles  4 rows; byte i of output o in row g: low half value 4g + i, high half value 16 + 4g +
//   i bits     1 row;  bit g of byte i of output o belongs to value 4g + i pairs    2 rows; bits 2k
//   and 2k+1 of byte i of output o in row h belong to value 16h + 4k + i bytes    8 rows; byte i of
//   output o in row g is value 4g + i
//
//   type            codes of a block           scales of the type's block, each [N]
//   Q4_0, IQ4_NL    nibbles                    d f16
//   Q4_1            nibbles                    d f16, m f16
//   MXFP4           nibbles                    exponent u8
//   Q5_0, Q5_1      nibbles, bits (bit 4)      as Q4_0, Q4_1
//   Q8_0            bytes                      d f16
//   Q2_K            pairs                      d f16, dmin f16, 16 x (scale | min << 4) u8
//   Q3_K            pairs, bits (bit 2)        d f16, 16 x scale i8
//   Q4_K            nibbles                    d f16, dmin f16, 8 x scale u8, 8 x min u8
//   Q5_K            nibbles, bits (bit 4)      as Q4_K
//   Q6_K            nibbles, pairs (bits 4-5)  d f16, 16 x scale i8
//   IQ4_XS          nibbles                    d f16, 8 x scale i8
//
// Codes are unsigned: a signed type's code is stored with its offset added (8 for Q4_0, 16 for
// Q5_0, 4 for Q3_K, 32 for Q6_K); those of IQ4 and MXFP4 are indices. Bytes of Q8_0 are signed
// where N is 8, and have 128 added where it is 16, for a product that wants unsigned ones.
#pragma once

namespace quire::kernels {

// Bytes per output: of the codes of 32 values, and of the scales of the type's block.
struct TileFormat {
  int code_bytes;
  int scale_bytes;
};
inline constexpr TileFormat kTileQ4Zero = {16, 2};
inline constexpr TileFormat kTileQ4One = {16, 4};
inline constexpr TileFormat kTileMxfp4 = {16, 1};
inline constexpr TileFormat kTileQ5Zero = {20, 2};
inline constexpr TileFormat kTileQ5One = {20, 4};
inline constexpr TileFormat kTileQ8Zero = {32, 2};
inline constexpr TileFormat kTileQ2K = {8, 20};
inline constexpr TileFormat kTileQ3K = {12, 18};
inline constexpr TileFormat kTileQ4K = {16, 20};
inline constexpr TileFormat kTileQ5K = {20, 20};
inline constexpr TileFormat kTileQ6K = {24, 18};
inline constexpr TileFormat kTileIq4Xs = {16, 10};

}  // namespace quire::kernels
