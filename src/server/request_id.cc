#include "server/request_id.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace quire {

namespace {

constexpr std::size_t kMaxIdBytes = 128;

bool IsIdByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-_.:").find(c) != std::string_view::npos;
}

std::uint64_t RandomWord() {
  thread_local std::mt19937_64 words([] {
    std::random_device device;
    std::seed_seq seed = {device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }());
  return words();
}

}  // namespace

std::string NewRequestId() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id(32, '0');
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint64_t word = RandomWord();
    for (std::size_t i = 0; i < 16; ++i, word >>= 4) id[half * 16 + i] = kDigits[word & 15];
  }
  return id;
}

std::string SoundRequestId(std::string_view wanted) {
  const bool is_sound = !wanted.empty() && wanted.size() <= kMaxIdBytes &&
                        std::all_of(wanted.begin(), wanted.end(), IsIdByte);
  return is_sound ? std::string(wanted) : NewRequestId();
}

}  // namespace quire
