// Chained hashes of a request's full blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "config/engine_config.h"
#include "kv/block_hash.h"

namespace quire {

// What makes equal tokens of two requests different content: a salt, an adapter's id, an image's
// hash. Appended to the tokens of a block, each under a kind and with its length.
class ExtraKeys {
 public:
  enum class Kind : std::uint8_t { kCacheSalt = 1, kAdapter = 2, kMultimodal = 3, kFamily = 4 };

  void Add(Kind kind, std::string_view value);
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Hashes blocks of one size with one algorithm. sha256 is safe against prompts made to collide;
// xxhash is faster and is not. Equal content has equal hashes in every process.
class PrefixHasher {
 public:
  PrefixHasher(PrefixHashAlgo algo, std::int32_t block_size);

  // Appends the hashes of the full blocks of `tokens` that `hashes` lacks. `first_block` goes into
  // the first block's hash, and through it into all. Copies nothing but one block at a time.
  void Extend(std::span<const TokenId> tokens, const ExtraKeys& first_block,
              std::vector<BlockHash>& hashes);

 private:
  BlockHash HashOne(const BlockHash& parent, std::span<const TokenId> tokens,
                    std::span<const std::uint8_t> extra);

  PrefixHashAlgo algo_;
  std::int32_t block_size_;
  std::vector<std::uint8_t> message_;  // parent, tokens, extra keys of the block being hashed
};

}  // namespace quire
