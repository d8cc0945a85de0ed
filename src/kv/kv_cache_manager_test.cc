#include "kv/kv_cache_manager.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kv/testing.h"

namespace quire {
namespace {

using Ids = std::vector<int>;

std::vector<TokenId> Tokens(int count, TokenId first = 100) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Ids TableOf(const RequestBlocks& request, std::size_t group = 0) {
  Ids ids;
  for (const BlockId id : request.tables[group].ids) ids.push_back(id.value());
  return ids;
}

class KvCacheManagerTest : public testing::Test {
 protected:
  void Make(const std::vector<int>& windows, std::int64_t num_blocks,
            KvEventSink* events = nullptr) {
    auto kv = KvCacheManager::Create({.spec = SpecOfWindows(windows),
                                      .num_blocks = num_blocks,
                                      .block_size = 4,
                                      .max_step_tokens = 8,
                                      .events = events});
    ASSERT_TRUE(kv.ok()) << kv.status().message();
    kv_ = *std::move(kv);
    new_blocks_.assign(windows.size(), {});
  }

  // Admits a request and computes all its tokens.
  bool Compute(const std::vector<TokenId>& tokens, RequestBlocks& request) {
    const auto count = static_cast<std::int32_t>(tokens.size());
    const std::int32_t num_cached = kv_->FindPrefix(tokens, count - 1, request);
    const bool is_in = kv_->Admit({num_cached, count, count, count + 16}, request);
    if (is_in) kv_->Share(tokens, count, request);
    return is_in;
  }

  std::unique_ptr<KvCacheManager> kv_;
  std::vector<std::vector<BlockId>> new_blocks_;
};

TEST_F(KvCacheManagerTest, GivesABlockForEachStartedBlockOfTokens) {
  Make({0}, 10);
  RequestBlocks request;
  ASSERT_TRUE(Compute(Tokens(5), request));
  EXPECT_EQ(TableOf(request), (Ids{1, 2}));
  EXPECT_TRUE(kv_->Grow(5, 8, request, new_blocks_));
  EXPECT_TRUE(new_blocks_[0].empty());
  EXPECT_TRUE(kv_->Grow(8, 9, request, new_blocks_));
  EXPECT_EQ(new_blocks_[0], (std::vector<BlockId>{BlockId(3)}));
  EXPECT_EQ(TableOf(request), (Ids{1, 2, 3}));
}

TEST_F(KvCacheManagerTest, GrowChangesNothingWhenThePoolIsShort) {
  Make({0}, 3);
  RequestBlocks request;
  ASSERT_TRUE(Compute(Tokens(4), request));
  EXPECT_FALSE(kv_->Grow(4, 13, request, new_blocks_));
  EXPECT_EQ(TableOf(request), (Ids{1}));
  EXPECT_EQ(kv_->pool().num_free(), 1);
  EXPECT_TRUE(new_blocks_[0].empty());
}

TEST_F(KvCacheManagerTest, EqualPromptsShareBlocksWhileInUseAndAfter) {
  Make({0}, 10);
  RequestBlocks first, second, third;
  const auto prompt = Tokens(10);
  ASSERT_TRUE(Compute(prompt, first));
  EXPECT_EQ(kv_->FindPrefix(prompt, 9, second), 8);
  ASSERT_TRUE(Compute(prompt, second));
  EXPECT_EQ(TableOf(second), (Ids{1, 2, 4}));
  const RequestBlocks* both[] = {&first, &second};
  kv_->CheckInvariants(both);
  kv_->Free(first);
  kv_->Free(second);
  EXPECT_EQ(kv_->pool().num_used(), 0);
  EXPECT_EQ(kv_->FindPrefix(prompt, 9, third), 8);
}

TEST_F(KvCacheManagerTest, TheLastTokenIsAlwaysComputed) {
  Make({0}, 20);
  for (const int length : {3, 4, 5, 8, 12}) {
    RequestBlocks first, second;
    const auto prompt = Tokens(length, 1000 * length);
    ASSERT_TRUE(Compute(prompt, first));
    EXPECT_EQ(kv_->FindPrefix(prompt, length - 1, second), (length - 1) / 4 * 4);
    kv_->Free(first);
  }
}

TEST_F(KvCacheManagerTest, AShorterPromptThanTheCachedOneHitsItsPart) {
  Make({0}, 10);
  RequestBlocks first, second;
  ASSERT_TRUE(Compute(Tokens(16), first));
  EXPECT_EQ(kv_->FindPrefix(Tokens(6), 5, second), 4);
}

TEST_F(KvCacheManagerTest, SaltedRequestsShareOnlyWithTheirOwnSalt) {
  Make({0}, 10);
  RequestBlocks plain, salted, same_salt;
  salted.extra_keys.Add(ExtraKeys::Kind::kCacheSalt, "a");
  same_salt.extra_keys.Add(ExtraKeys::Kind::kCacheSalt, "a");
  ASSERT_TRUE(Compute(Tokens(8), plain));
  EXPECT_EQ(kv_->FindPrefix(Tokens(8), 7, salted), 0);
  ASSERT_TRUE(Compute(Tokens(8), salted));
  EXPECT_EQ(kv_->FindPrefix(Tokens(8), 7, same_salt), 4);
}

TEST_F(KvCacheManagerTest, TheTailOfAChainIsEvictedFirst) {
  Make({0}, 5);
  RequestBlocks first, second, third;
  ASSERT_TRUE(Compute(Tokens(16), first));
  kv_->Free(first);
  ASSERT_TRUE(Compute(Tokens(4, 900), second));
  EXPECT_EQ(TableOf(second), (Ids{4}));
  EXPECT_EQ(kv_->FindPrefix(Tokens(16), 15, third), 12);
}

TEST_F(KvCacheManagerTest, BlocksThatFallOutOfTheWindowAreGivenBack) {
  Make({5}, 10);
  RequestBlocks request;
  ASSERT_TRUE(Compute(Tokens(8), request));
  EXPECT_TRUE(kv_->Grow(8, 9, request, new_blocks_));  // position 8 sees 4 to 8
  EXPECT_EQ(TableOf(request), (Ids{0, 2, 3}));
  EXPECT_EQ(kv_->pool().num_used(), 2);
  EXPECT_TRUE(kv_->Grow(11, 12, request, new_blocks_));
  EXPECT_EQ(TableOf(request), (Ids{0, 2, 3}));
  EXPECT_TRUE(kv_->Grow(12, 13, request, new_blocks_));
  EXPECT_EQ(TableOf(request), (Ids{0, 0, 3, 4}));
}

TEST_F(KvCacheManagerTest, AWindowShorterThanABlockKeepsOneBlock) {
  Make({2}, 10);
  RequestBlocks request;
  ASSERT_TRUE(Compute(Tokens(3), request));
  for (int computed = 3; computed < 40; ++computed) {
    ASSERT_TRUE(kv_->Grow(computed, computed + 1, request, new_blocks_));
    EXPECT_LE(kv_->pool().num_used(), 2) << computed;
  }
}

TEST_F(KvCacheManagerTest, AWindowHitNeedsOnlyTheLastBlocks) {
  Make({5}, 20);
  RequestBlocks first, second;
  const auto prompt = Tokens(17);
  ASSERT_TRUE(Compute(prompt, first));
  ASSERT_TRUE(kv_->Grow(17, 18, first, new_blocks_));
  EXPECT_EQ(TableOf(first), (Ids{0, 0, 0, 4, 5}));
  EXPECT_EQ(kv_->FindPrefix(prompt, 16, second), 16);
  ASSERT_TRUE(Compute(prompt, second));
  EXPECT_EQ(TableOf(second), (Ids{0, 0, 0, 4, 6}));
}

TEST_F(KvCacheManagerTest, GroupsAgreeOnTheLongestHitOfAll) {
  Make({0, 5}, 11);
  RequestBlocks first, other, second;
  const auto prompt = Tokens(17);
  ASSERT_TRUE(Compute(prompt, first));  // five blocks a group: all there are
  EXPECT_EQ(kv_->pool().num_free(), 0);
  kv_->Free(first);
  RequestBlocks probe;
  EXPECT_EQ(kv_->FindPrefix(prompt, 16, probe), 16);
  // The deepest block of each group goes first, so both lose the same position.
  ASSERT_TRUE(Compute(Tokens(8, 900), other));
  EXPECT_EQ(kv_->FindPrefix(prompt, 16, second), 12);
}

TEST_F(KvCacheManagerTest, AdmitsOnlyWhenTheWholePromptFits) {
  Make({0}, 4);
  RequestBlocks request;
  EXPECT_FALSE(kv_->Admit({0, 4, 16, 32}, request));
  EXPECT_EQ(kv_->pool().num_used(), 0);
  EXPECT_TRUE(kv_->Admit({0, 4, 12, 32}, request));
  EXPECT_EQ(TableOf(request), (Ids{1}));
}

TEST_F(KvCacheManagerTest, FreeBlocksThatAreHitCountAsNeeded) {
  Make({0}, 4);
  RequestBlocks first, second;
  ASSERT_TRUE(Compute(Tokens(8), first));
  kv_->Free(first);
  const auto longer = Tokens(16);
  EXPECT_EQ(kv_->FindPrefix(longer, 15, second), 8);
  EXPECT_FALSE(kv_->Admit({8, 16, 16, 32}, second));
  EXPECT_EQ(kv_->pool().num_used(), 0);
}

TEST_F(KvCacheManagerTest, ForgottenBlocksAreNotFound) {
  Make({0}, 10);
  RequestBlocks first, second;
  ASSERT_TRUE(Compute(Tokens(12), first));
  kv_->Forget(4, first);
  EXPECT_EQ(kv_->FindPrefix(Tokens(12), 11, second), 4);
}

TEST_F(KvCacheManagerTest, ResetForgetsPrefixesOnlyWhenNothingIsInUse) {
  Make({0}, 10);
  RequestBlocks first, second;
  ASSERT_TRUE(Compute(Tokens(8), first));
  EXPECT_FALSE(kv_->ResetPrefixCache());
  kv_->Free(first);
  EXPECT_EQ(kv_->FindPrefix(Tokens(8), 7, second), 4);
  EXPECT_TRUE(kv_->ResetPrefixCache());
  EXPECT_EQ(kv_->FindPrefix(Tokens(8), 7, second), 0);
}

TEST_F(KvCacheManagerTest, RefusesSpecsThatMeanNothing) {
  EXPECT_FALSE(KvCacheManager::Create({.spec = {}, .num_blocks = 10}).ok());
  EXPECT_FALSE(KvCacheManager::Create({.spec = SpecOfWindows({0}), .num_blocks = 1}).ok());
  EXPECT_FALSE(
      KvCacheManager::Create({.spec = SpecOfWindows({0}), .num_blocks = 9, .block_size = 0}).ok());
  KvCacheSpec no_window = SpecOfWindows({3});
  no_window.groups[0].window = 0;
  EXPECT_FALSE(KvCacheManager::Create({.spec = no_window, .num_blocks = 10}).ok());
}

// What a subscriber hears, as text.
class EventLog : public KvEventSink {
 public:
  void OnStored(const KvBlocksStored& stored) override {
    EXPECT_EQ(stored.tokens.size(),
              stored.hashes.size() * static_cast<std::size_t>(stored.block_size));
    lines.push_back("+" + std::to_string(stored.hashes.size()) + "@" +
                    std::to_string(stored.tokens[0]) + (stored.parent ? " child" : " root"));
  }
  void OnRemoved(const BlockHash& /*hash*/, std::int32_t group) override {
    lines.push_back("-" + std::to_string(group));
  }
  void OnCleared() override { lines.push_back("clear"); }
  std::vector<std::string> lines;
};

TEST_F(KvCacheManagerTest, SubscribersHearWhatCanBeFound) {
  EventLog log;
  Make({0}, 5, &log);
  RequestBlocks first, twin, other;
  ASSERT_TRUE(Compute(Tokens(8, 100), first));
  ASSERT_TRUE(Compute(Tokens(8, 100), twin));  // its second block holds what another one does
  EXPECT_EQ(log.lines, (std::vector<std::string>{"+2@100 root"}));
  log.lines.clear();
  ASSERT_TRUE(kv_->Grow(8, 12, first, new_blocks_));
  kv_->Share(Tokens(12, 100), 12, first);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"+1@108 child"}));
  log.lines.clear();
  kv_->Free(first);
  kv_->Free(twin);
  ASSERT_TRUE(Compute(Tokens(8, 900), other));
  EXPECT_EQ(log.lines, (std::vector<std::string>{"-0", "+2@900 root"}));
  kv_->Free(other);
  kv_->ResetPrefixCache();
  EXPECT_EQ(log.lines.back(), "clear");
}

}  // namespace
}  // namespace quire
