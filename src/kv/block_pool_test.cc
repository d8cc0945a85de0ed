#include "kv/block_pool.h"

#include <vector>

#include <gtest/gtest.h>

namespace quire {
namespace {

BlockHash HashOf(std::uint64_t word) { return BlockHash{{word, 0, 0, 0}}; }

// Acquires all free blocks, in the order in which the pool hands them out.
std::vector<int> Drain(BlockPool& pool) {
  std::vector<int> ids;
  while (pool.num_free() > 0) ids.push_back(pool.Acquire().value());
  return ids;
}

TEST(BlockPool, HandsOutEveryBlockButTheNullBlockOnce) {
  BlockPool pool(5, nullptr);
  EXPECT_EQ(pool.num_total(), 4);
  EXPECT_EQ(Drain(pool), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(pool.num_used(), 4);
  pool.CheckInvariants();
}

TEST(BlockPool, ReusesTheLeastRecentlyFreedBlockWithContentFirst) {
  BlockPool pool(4, nullptr);
  const std::vector<int> all = Drain(pool);
  for (const int id : {2, 3, 1}) {
    pool.Register(BlockId(id), HashOf(static_cast<std::uint64_t>(id)), 0);
    pool.Release(BlockId(id));
  }
  EXPECT_EQ(Drain(pool), (std::vector<int>{2, 3, 1}));
}

TEST(BlockPool, ReusesBlocksWithoutContentBeforeThoseWithContent) {
  BlockPool pool(4, nullptr);
  Drain(pool);
  pool.Register(BlockId(1), HashOf(1), 0);
  for (const int id : {1, 2, 3}) pool.Release(BlockId(id));
  EXPECT_EQ(Drain(pool), (std::vector<int>{3, 2, 1}));
}

TEST(BlockPool, FindsContentUntilItsBlockIsHandedOutAgain) {
  BlockPool pool(3, nullptr);
  const BlockId id = pool.Acquire();
  EXPECT_TRUE(pool.Register(id, HashOf(7), 0));
  pool.Release(id);
  EXPECT_EQ(pool.Find(HashOf(7), 0), id);
  EXPECT_EQ(pool.Find(HashOf(7), 1), std::nullopt);
  EXPECT_EQ(pool.Find(HashOf(8), 0), std::nullopt);
  Drain(pool);
  EXPECT_EQ(pool.Find(HashOf(7), 0), std::nullopt);
  pool.CheckInvariants();
}

TEST(BlockPool, AFoundBlockLeavesTheFreeListAndComesBackAtItsEnd) {
  BlockPool pool(4, nullptr);
  for (const int id : Drain(pool))
    pool.Register(BlockId(id), HashOf(static_cast<std::uint64_t>(id)), 0);
  for (const int id : {1, 2, 3}) pool.Release(BlockId(id));
  pool.AddRef(BlockId(2));
  EXPECT_EQ(pool.num_free(), 2);
  pool.AddRef(BlockId(2));
  EXPECT_EQ(pool.ref_count(BlockId(2)), 2);
  pool.Release(BlockId(2));
  EXPECT_EQ(pool.num_free(), 2);
  pool.Release(BlockId(2));
  EXPECT_EQ(Drain(pool), (std::vector<int>{1, 3, 2}));
}

TEST(BlockPool, OneBlockAnswersForAContentAndAFreeOneHandsOver) {
  BlockPool pool(4, nullptr);
  const BlockId first = pool.Acquire();
  const BlockId second = pool.Acquire();
  EXPECT_TRUE(pool.Register(first, HashOf(7), 0));
  EXPECT_FALSE(pool.Register(second, HashOf(7), 0));
  EXPECT_EQ(pool.Find(HashOf(7), 0), first);
  pool.Release(first);
  EXPECT_FALSE(pool.Register(second, HashOf(7), 0));
  EXPECT_EQ(pool.Find(HashOf(7), 0), second);
  EXPECT_FALSE(pool.is_registered(first));
  EXPECT_EQ(pool.Acquire(), first);  // it has nothing to offer any more
  pool.CheckInvariants();
}

TEST(BlockPool, SharesBucketsWithoutMixingContents) {
  BlockPool pool(9, nullptr);  // 16 buckets, and the low bits of these hashes are equal
  const std::vector<int> all = Drain(pool);
  for (const int id : all)
    pool.Register(BlockId(id), HashOf(static_cast<std::uint64_t>(id) << 8), 0);
  pool.CheckInvariants();
  pool.Forget(BlockId(4));
  for (const int id : all) {
    const auto found = pool.Find(HashOf(static_cast<std::uint64_t>(id) << 8), 0);
    EXPECT_EQ(found, id == 4 ? std::nullopt : std::optional(BlockId(id)));
  }
  pool.CheckInvariants();
}

TEST(BlockPool, ForgetsAllContentsAtOnce) {
  BlockPool pool(3, nullptr);
  const BlockId id = pool.Acquire();
  pool.Register(id, HashOf(7), 0);
  pool.ClearPrefixes();
  EXPECT_EQ(pool.Find(HashOf(7), 0), std::nullopt);
  pool.CheckInvariants();
}

TEST(BlockPoolDeathTest, ABlockFreedTwiceIsABug) {
  BlockPool pool(3, nullptr);
  const BlockId id = pool.Acquire();
  pool.Release(id);
  EXPECT_DEATH(pool.Release(id), "freed twice");
}

}  // namespace
}  // namespace quire
