#include "kv/prefix_hash.h"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kv/sha256.h"

namespace quire {

static_assert(std::endian::native == std::endian::little,
              "hashes are the same on every machine because tokens are hashed as little-endian");

void ExtraKeys::Add(Kind kind, std::string_view value) {
  bytes_.push_back(static_cast<std::uint8_t>(kind));
  const std::uint64_t length = value.size();
  const auto* length_bytes = reinterpret_cast<const std::uint8_t*>(&length);
  bytes_.insert(bytes_.end(), length_bytes, length_bytes + sizeof length);
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

PrefixHasher::PrefixHasher(PrefixHashAlgo algo, std::int32_t block_size)
    : algo_(algo), block_size_(block_size) {}

void PrefixHasher::Extend(std::span<const TokenId> tokens, const ExtraKeys& first_block,
                          std::vector<BlockHash>& hashes) {
  const auto block_size = static_cast<std::size_t>(block_size_);
  const std::size_t num_full = tokens.size() / block_size;
  for (std::size_t idx = hashes.size(); idx < num_full; ++idx) {
    const BlockHash parent = idx == 0 ? BlockHash{} : hashes[idx - 1];
    const auto extra = idx == 0 ? first_block.bytes() : std::span<const std::uint8_t>();
    hashes.push_back(HashOne(parent, tokens.subspan(idx * block_size, block_size), extra));
  }
}

BlockHash PrefixHasher::HashOne(const BlockHash& parent, std::span<const TokenId> tokens,
                                std::span<const std::uint8_t> extra) {
  // Parent and tokens have a fixed length, so no two different blocks make the same message.
  const std::size_t parent_bytes = sizeof parent.words / (algo_ == PrefixHashAlgo::kXxhash ? 2 : 1);
  message_.resize(parent_bytes + tokens.size_bytes() + extra.size());
  std::uint8_t* out = message_.data();
  std::memcpy(out, parent.words.data(), parent_bytes);
  std::memcpy(out + parent_bytes, tokens.data(), tokens.size_bytes());
  if (!extra.empty()) {
    std::memcpy(out + parent_bytes + tokens.size_bytes(), extra.data(), extra.size());
  }
  BlockHash hash;
  if (algo_ == PrefixHashAlgo::kXxhash) {
    const XXH128_hash_t digest = XXH3_128bits(message_.data(), message_.size());
    hash.words[0] = digest.low64;
    hash.words[1] = digest.high64;
  } else {
    const Sha256Digest digest = Sha256(message_);
    std::memcpy(hash.words.data(), digest.data(), digest.size());
  }
  return hash;
}

}  // namespace quire
