// A fast hash of short byte strings, for tables in memory only.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace quire {

inline std::uint64_t MixBits(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t HashBytes(std::string_view text) {
  constexpr std::uint64_t kFirst = 0xA0761D6478BD642F, kSecond = 0xE7037ED1A0B428DB;
  std::uint64_t hash = text.size() ^ kFirst;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left > 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = MixBits(hash ^ word, kSecond);
  }
  std::uint64_t word = 0;
  if (left > 0) std::memcpy(&word, at, left);
  return MixBits(hash ^ word, kFirst ^ kSecond);
}

}  // namespace quire
