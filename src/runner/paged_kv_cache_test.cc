#include "runner/paged_kv_cache.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace quire {
namespace {

KvCacheSpec TwoLayers() {
  KvCacheSpec spec;
  spec.groups = {{.layers = {0, 1}}};
  spec.num_kv_heads = 4;
  spec.key_head_dim = spec.value_head_dim = 64;
  return spec;
}

// How many of the system's pages of the cache are in memory, and how many there are.
struct Residency {
  std::int64_t resident;
  std::int64_t pages;
};
Residency ResidencyOf(const PagedKvCache& cache) {
  const ops::KvPages& layer = cache.layers()[0];
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(layer.k.data());
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const auto bytes = static_cast<std::uintptr_t>(cache.num_blocks() * layer.block_bytes);
  const std::uintptr_t end = (first + bytes) / page * page;
  std::vector<unsigned char> in_memory((end - begin) / page);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(begin), end - begin, in_memory.data()), 0);
  return {std::ranges::count_if(in_memory, [](unsigned char state) { return (state & 1) != 0; }),
          static_cast<std::int64_t>(in_memory.size())};
}

TEST(PagedKvCache, TakesItsMemoryWhenItIsPrefaultedAndNotBefore) {
  auto cache = PagedKvCache::Allocate(TwoLayers(), 500, 16, DType::kF16);
  ASSERT_TRUE(cache.ok());
  const Residency before = ResidencyOf(*cache);
  ASSERT_GT(before.pages, 1000);
  EXPECT_LT(before.resident, before.pages / 10);
  ThreadPool pool({.num_threads = 2, .pin = false});
  cache->Prefault(pool);
  const Residency after = ResidencyOf(*cache);
  EXPECT_EQ(after.resident, after.pages);
}

}  // namespace
}  // namespace quire
