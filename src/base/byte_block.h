// 64 bytes looked at side by side: each question is answered by 64 bits, the first byte's lowest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace quire {

class ByteBlock {
 public:
  static constexpr std::size_t kBytes = 64;

  explicit ByteBlock(const char* bytes) { std::memcpy(parts_, bytes, kBytes); }

  std::uint64_t Equal(char byte) const;
  // Of signed bytes: below ' ' are those from 0x80 on too.
  std::uint64_t Below(signed char byte) const;
  // The question for the byte as it is with bit 5 set: of '[' and '{' alike, of 'A' and 'a' alike.
  std::uint64_t EqualFolded(char byte) const;

 private:
#if defined(__SSE2__)
  template <typename Test>
  std::uint64_t Bits(const Test& test) const {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kParts; ++i) {
      bits |= std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(test(parts_[i])))}
              << (16 * i);
    }
    return bits;
  }

  static constexpr std::size_t kParts = 4;
  __m128i parts_[kParts];
#else
  template <typename Test>
  std::uint64_t Bits(const Test& test) const {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kBytes; ++i) bits |= std::uint64_t{test(parts_[i])} << i;
    return bits;
  }

  char parts_[kBytes];
#endif
};

#if defined(__SSE2__)
inline std::uint64_t ByteBlock::Equal(char byte) const {
  const __m128i wanted = _mm_set1_epi8(byte);
  return Bits([&](__m128i part) { return _mm_cmpeq_epi8(part, wanted); });
}

inline std::uint64_t ByteBlock::Below(signed char byte) const {
  const __m128i bound = _mm_set1_epi8(byte);
  return Bits([&](__m128i part) { return _mm_cmplt_epi8(part, bound); });
}

inline std::uint64_t ByteBlock::EqualFolded(char byte) const {
  const __m128i wanted = _mm_set1_epi8(byte), fold = _mm_set1_epi8(0x20);
  return Bits([&](__m128i part) { return _mm_cmpeq_epi8(_mm_or_si128(part, fold), wanted); });
}
#else
inline std::uint64_t ByteBlock::Equal(char byte) const {
  return Bits([&](char part) { return part == byte; });
}

inline std::uint64_t ByteBlock::Below(signed char byte) const {
  return Bits([&](char part) { return static_cast<signed char>(part) < byte; });
}

inline std::uint64_t ByteBlock::EqualFolded(char byte) const {
  return Bits([&](char part) { return (part | 0x20) == byte; });
}
#endif

}  // namespace quire
