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

template <typename Word>
std::uint64_t LoadWord(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline std::uint64_t HashBytes(std::string_view text) {
  constexpr std::uint64_t kFirst = 0xA0761D6478BD642F, kSecond = 0xE7037ED1A0B428DB;
  const std::size_t size = text.size();
  std::uint64_t hash = size ^ kFirst;
  const char* at = text.data();
  const char* const end = at + size;
  for (; end - at > 8; at += 8) hash = MixBits(hash ^ LoadWord<std::uint64_t>(at), kSecond);
  // The rest in loads of fixed sizes, which may overlap: a copy of `end - at` bytes would be a
  // call.
  std::uint64_t word = 0;
  if (size >= 8) {
    word = LoadWord<std::uint64_t>(end - 8);
  } else if (size >= 4) {
    word = LoadWord<std::uint32_t>(at) << 32 | LoadWord<std::uint32_t>(end - 4);
  } else if (size > 0) {
    const auto byte = [&](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(at[i])};
    };
    word = byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
  }
  return MixBits(hash ^ word, kFirst ^ kSecond);
}

}  // namespace quire
