// Hashes that tell content apart: xxh3, which nobody can be kept from forging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quire {

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

Digest DigestOf(std::span<const std::byte> bytes);
std::uint64_t ChecksumOf(std::span<const std::byte> bytes);

// 32 hexadecimal digits.
std::string ToString(const Digest& digest);

// Gathers few values and then gives the digest of them all.
class DigestBuilder {
 public:
  void Add(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  // A number, or a struct of numbers without gaps between them.
  template <typename T>
  requires std::has_unique_object_representations_v<T>
  void AddValue(const T& value) { Add(std::as_bytes(std::span(&value, 1))); }
  void AddText(std::string_view text) {
    AddValue(text.size());
    Add(std::as_bytes(std::span(text)));
  }
  Digest Finish() const { return DigestOf(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace quire
