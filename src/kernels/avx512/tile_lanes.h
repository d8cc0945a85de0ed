// The registers of a tile of 16 outputs (kernels/tile.h) as wide/tile_codecs_body.h sees them:
// AVX-512.
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "kernels/wide/types.h"

namespace quire::kernels {
namespace {

constexpr int kTile = 16;
constexpr bool kUnsignedCodes = true;  // products take no others

using TileRow = __m512i;    // four bytes of each output
using TileBytes = __m128i;  // one byte of each output
using TileFloats = __m512;
using TileTable = __m512i;  // 16 bytes, four times

QUIRE_INLINE TileRow LoadRow(const std::uint8_t* rows, int row) {
  return _mm512_loadu_si512(rows + 64 * row);
}
QUIRE_INLINE TileRow SetRow(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }

// Of each byte; bits from a neighbour come in.
template <int kBits>
QUIRE_INLINE TileRow ShiftLeft(TileRow x) {
  return _mm512_slli_epi16(x, kBits);
}
template <int kBits>
QUIRE_INLINE TileRow ShiftRight(TileRow x) {
  return _mm512_srli_epi16(x, kBits);
}

// `codes`, which are 0 under the mask, with the bits of `x` there.
QUIRE_INLINE TileRow Insert(TileRow codes, TileRow x, TileRow mask) {
  constexpr int kOrOfAnd = 0xF8;  // codes | (x & mask)
  return _mm512_ternarylogic_epi32(codes, x, mask, kOrOfAnd);
}

QUIRE_INLINE TileRow LowNibbles(TileRow x) { return _mm512_and_si512(x, SetRow(15)); }
QUIRE_INLINE TileRow HighNibbles(TileRow x) { return LowNibbles(ShiftRight<4>(x)); }

QUIRE_INLINE TileTable LoadTable(const std::uint8_t* table) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
}
QUIRE_INLINE TileRow LookUp(TileTable table, TileRow indices) {
  return _mm512_shuffle_epi8(table, indices);
}

QUIRE_INLINE TileBytes LoadBytes(const std::uint8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}
QUIRE_INLINE TileBytes LowNibbles(TileBytes x) { return _mm_and_si128(x, _mm_set1_epi8(15)); }
QUIRE_INLINE TileBytes HighNibbles(TileBytes x) { return LowNibbles(_mm_srli_epi16(x, 4)); }

QUIRE_INLINE TileFloats LoadHalves(const std::uint8_t* halves) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves)));
}
// To an address that is a whole register's; seen by others once awaited.
QUIRE_INLINE void StorePastCaches(float* out, TileFloats x) { _mm512_stream_ps(out, x); }
QUIRE_INLINE void AwaitStoresPastCaches() { _mm_sfence(); }

QUIRE_INLINE TileFloats UnsignedToFloat(TileBytes x) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x));
}
QUIRE_INLINE TileFloats SignedToFloat(TileBytes x) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(x));
}
QUIRE_INLINE TileFloats Multiply(TileFloats a, TileFloats b) { return _mm512_mul_ps(a, b); }
QUIRE_INLINE TileFloats Negate(TileFloats x) { return _mm512_xor_ps(x, _mm512_set1_ps(-0.0F)); }

// 2^(x - 128), which has no exponent's bits where x is 0 or 1.
QUIRE_INLINE TileFloats PowerOf(TileBytes x) {
  const __m512i e = _mm512_cvtepu8_epi32(x);
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
  const __m512i tiny = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
  const __mmask16 is_tiny = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
  return _mm512_castsi512_ps(_mm512_mask_blend_epi32(is_tiny, normal, tiny));
}

}  // namespace
}  // namespace quire::kernels
