#include "kv/prefix_hash.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kv/sha256.h"

namespace quire {
namespace {

std::span<const std::uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string Hex(const Sha256Digest& digest) {
  std::string hex;
  for (const std::uint8_t byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(Hex(Sha256(Bytes(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(Sha256(Bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Sha256(Bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hex(Sha256(Bytes(std::string(1000000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameWithAndWithoutTheProcessorsInstructions) {
  const sha256::CompressFn fast = sha256::FastCompress();
  if (fast == nullptr) GTEST_SKIP() << "this processor has no SHA instructions";
  std::string text;
  for (int length = 0; length < 300; ++length) {
    EXPECT_EQ(sha256::Digest(Bytes(text), fast),
              sha256::Digest(Bytes(text), sha256::CompressPortable))
        << length << " bytes";
    text.push_back(static_cast<char>(length * 37 + 11));
  }
}

class PrefixHasherTest : public testing::TestWithParam<PrefixHashAlgo> {
 protected:
  std::vector<BlockHash> Hash(std::vector<TokenId> tokens, const ExtraKeys& extra = {}) {
    std::vector<BlockHash> hashes;
    PrefixHasher(GetParam(), 4).Extend(tokens, extra, hashes);
    return hashes;
  }
};

TEST_P(PrefixHasherTest, HashesFullBlocksOnly) {
  EXPECT_TRUE(Hash({1, 2, 3}).empty());
  EXPECT_EQ(Hash({1, 2, 3, 4}).size(), 1U);
  EXPECT_EQ(Hash({1, 2, 3, 4, 5, 6, 7}).size(), 1U);
  EXPECT_EQ(Hash({1, 2, 3, 4, 5, 6, 7, 8}).size(), 2U);
}

TEST_P(PrefixHasherTest, ABlockStandsForEverythingBeforeIt) {
  const auto a = Hash({1, 2, 3, 4, 5, 6, 7, 8});
  const auto b = Hash({9, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_NE(a[1], b[1]);
  EXPECT_NE(a[0], Hash({5, 6, 7, 8})[0]);
  EXPECT_EQ(a[0], Hash({1, 2, 3, 4})[0]);
}

TEST_P(PrefixHasherTest, GrowsWithTheTokensToTheSameHashes) {
  std::vector<TokenId> tokens;
  std::vector<BlockHash> grown;
  PrefixHasher hasher(GetParam(), 4);
  for (TokenId token = 0; token < 40; ++token) {
    tokens.push_back(token * 7);
    hasher.Extend(tokens, {}, grown);
  }
  EXPECT_EQ(grown, Hash(tokens));
}

TEST_P(PrefixHasherTest, ExtraKeysChangeEveryBlock) {
  ExtraKeys salt;
  salt.Add(ExtraKeys::Kind::kCacheSalt, "tenant");
  ExtraKeys adapter;
  adapter.Add(ExtraKeys::Kind::kAdapter, "tenant");
  const std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto plain = Hash(tokens);
  const auto salted = Hash(tokens, salt);
  EXPECT_NE(plain[0], salted[0]);
  EXPECT_NE(plain[1], salted[1]);
  EXPECT_NE(Hash(tokens, adapter)[0], salted[0]);
}

TEST_P(PrefixHasherTest, ExtraKeysDoNotRunIntoEachOther) {
  ExtraKeys one;
  one.Add(ExtraKeys::Kind::kCacheSalt, "ab");
  one.Add(ExtraKeys::Kind::kCacheSalt, "c");
  ExtraKeys two;
  two.Add(ExtraKeys::Kind::kCacheSalt, "a");
  two.Add(ExtraKeys::Kind::kCacheSalt, "bc");
  EXPECT_NE(Hash({1, 2, 3, 4}, one)[0], Hash({1, 2, 3, 4}, two)[0]);
}

// Pairs of blocks that weak polynomial hashes confuse: one id up by the base, its neighbour down.
TEST_P(PrefixHasherTest, PolynomialCollisionsStayApart) {
  std::set<BlockHash> seen;
  int num_blocks = 0;
  for (const TokenId base : {2, 31, 33, 131, 257, 65537, 1000003}) {
    for (int at = 0; at < 3; ++at) {
      for (TokenId shift = 0; shift < 50; ++shift) {
        std::vector<TokenId> tokens = {base, 5000 + base, 6000 + base, 7000 + base};
        tokens[static_cast<std::size_t>(at)] += shift + 1;
        tokens[static_cast<std::size_t>(at) + 1] -= (shift + 1) * base % 100000;
        seen.insert(Hash(tokens)[0]);
        ++num_blocks;
      }
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), num_blocks);
}

TEST_P(PrefixHasherTest, ManyRandomBlocksHaveDifferentHashes) {
  constexpr int kNumBlocks = 200000;
  std::vector<BlockHash> hashes;
  std::vector<TokenId> tokens(4 * kNumBlocks);
  std::uint64_t state = 1;
  for (TokenId& token : tokens) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    token = static_cast<TokenId>(state >> 48);
  }
  PrefixHasher(GetParam(), 4).Extend(tokens, {}, hashes);
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

INSTANTIATE_TEST_SUITE_P(Algos, PrefixHasherTest,
                         testing::Values(PrefixHashAlgo::kSha256, PrefixHashAlgo::kXxhash),
                         [](const auto& algo) {
                           return algo.param == PrefixHashAlgo::kSha256 ? "Sha256" : "Xxhash";
                         });

}  // namespace
}  // namespace quire
