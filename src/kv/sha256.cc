#include "kv/sha256.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace quire {
namespace sha256 {
namespace {

constexpr std::size_t kBlockBytes = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
alignas(16) constexpr std::uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr State kInitialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::uint32_t LoadBigEndian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

void StoreBigEndian(std::uint32_t value, std::uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

void ExpandSchedule(const std::uint8_t* bytes, std::uint32_t (&w)[64]) {
  for (int i = 0; i < 16; ++i) w[i] = LoadBigEndian(bytes + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
}

#if defined(__x86_64__)

// Four rounds from the schedule words `w`.
__attribute__((target("sha,sse4.1"))) inline void FourRounds(__m128i& abef, __m128i& cdgh,
                                                             __m128i w, int round) {
  const __m128i k = _mm_load_si128(reinterpret_cast<const __m128i*>(&kRoundConstants[round]));
  const __m128i wk = _mm_add_epi32(w, k);
  cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
  abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0E));
}

// The four schedule words that follow the sixteen in w0..w3.
__attribute__((target("sha,sse4.1"))) inline __m128i NextWords(__m128i w0, __m128i w1, __m128i w2,
                                                               __m128i w3) {
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
  return _mm_sha256msg2_epu32(sum, w3);
}

__attribute__((target("sha,sse4.1"))) void CompressOne(__m128i& abef, __m128i& cdgh,
                                                       const std::uint8_t* bytes) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abef_before = abef;
  const __m128i cdgh_before = cdgh;
  __m128i w[4];
  for (int i = 0; i < 4; ++i) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    w[i] = _mm_shuffle_epi8(raw, swap);
  }
  for (int round = 0; round < 48; round += 16) {
    for (int i = 0; i < 4; ++i) {
      FourRounds(abef, cdgh, w[i], round + 4 * i);
      w[i] = NextWords(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
    }
  }
  for (int i = 0; i < 4; ++i) FourRounds(abef, cdgh, w[i], 48 + 4 * i);
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
}

// The instructions want the eight state words as (a b e f) and (c d g h), highest first.
__attribute__((target("sha,sse4.1"))) void CompressSha(State& state, const std::uint8_t* bytes,
                                                       std::size_t num_blocks) {
  auto* words = reinterpret_cast<__m128i*>(state.data());
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (std::size_t i = 0; i < num_blocks; ++i) CompressOne(abef, cdgh, bytes + i * kBlockBytes);
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool HasShaInstructions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kShaBit = 1U << 29;
  return (ebx & kShaBit) != 0 && __builtin_cpu_supports("sse4.1");
}

#endif

}  // namespace

void CompressPortable(State& state, const std::uint8_t* bytes, std::size_t num_blocks) {
  for (; num_blocks > 0; --num_blocks, bytes += kBlockBytes) {
    std::uint32_t w[64];
    ExpandSchedule(bytes, w);
    State s = state;
    for (int i = 0; i < 64; ++i) {
      const std::uint32_t e = std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25);
      const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
      const std::uint32_t t1 = s[7] + e + choice + kRoundConstants[i] + w[i];
      const std::uint32_t a = std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22);
      const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      s = {t1 + a + majority, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += s[i];
  }
}

CompressFn FastCompress() {
#if defined(__x86_64__)
  static const bool kHasSha = HasShaInstructions();
  if (kHasSha) return CompressSha;
#endif
  return nullptr;
}

Sha256Digest Digest(std::span<const std::uint8_t> bytes, CompressFn compress) {
  State state = kInitialState;
  const std::size_t num_whole = bytes.size() / kBlockBytes;
  compress(state, bytes.data(), num_whole);

  // The rest, a one bit, zeros, and the length in bits in the last eight bytes.
  const auto rest = bytes.subspan(num_whole * kBlockBytes);
  std::uint8_t tail[2 * kBlockBytes] = {};
  if (!rest.empty()) std::memcpy(tail, rest.data(), rest.size());
  tail[rest.size()] = 0x80;
  const std::size_t num_tail = rest.size() + 9 > kBlockBytes ? 2 : 1;
  const std::uint64_t num_bits = std::uint64_t{bytes.size()} * 8;
  std::uint8_t* length = tail + num_tail * kBlockBytes - 8;
  StoreBigEndian(static_cast<std::uint32_t>(num_bits >> 32), length);
  StoreBigEndian(static_cast<std::uint32_t>(num_bits), length + 4);
  compress(state, tail, num_tail);

  Sha256Digest digest;
  for (std::size_t i = 0; i < state.size(); ++i) StoreBigEndian(state[i], digest.data() + 4 * i);
  return digest;
}

}  // namespace sha256

Sha256Digest Sha256(std::span<const std::uint8_t> bytes) {
  const sha256::CompressFn fast = sha256::FastCompress();
  return sha256::Digest(bytes, fast != nullptr ? fast : sha256::CompressPortable);
}

}  // namespace quire
