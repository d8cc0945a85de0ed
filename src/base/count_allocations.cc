// A source of its own: where the compiler sees these operators, it takes their malloc and free for
// a mismatch with the standard ones.
#include "base/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> num_allocations = 0;
std::atomic<std::int64_t> num_live = 0;

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t num_bytes, const std::nothrow_t& /*tag*/) noexcept {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  num_live.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(num_bytes);
}
void* operator new(std::size_t num_bytes) {
  void* const memory = operator new(num_bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) num_live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*num_bytes*/) noexcept { operator delete(memory); }
#endif

namespace quire {

std::int64_t NumAllocations() { return num_allocations.load(std::memory_order_relaxed); }
std::int64_t NumLiveAllocations() { return num_live.load(std::memory_order_relaxed); }

}  // namespace quire
