// Counter-based random numbers: the n-th draw of a stream is a function of (key, n) alone.
#pragma once

#include <array>
#include <cstdint>

namespace quire {

// Philox-4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): four 32-bit words of `counter` under `key`.
constexpr std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Draw number `index` of position `position` under `seed`, uniform in [0, 1) with 53 bits.
constexpr double UniformDraw(std::uint64_t seed, std::uint64_t position, std::uint64_t index) {
  const auto words =
      Philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
              static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32) | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace quire
