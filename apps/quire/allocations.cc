// A source of its own: where the compiler sees these operators, it takes their malloc and free for
// a mismatch with the standard ones. A count of each thread's own costs a nanosecond a call.
#include "apps/quire/allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::int64_t num_allocations = 0;

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t num_bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++num_allocations;
  return std::malloc(num_bytes == 0 ? 1 : num_bytes);
}
void* operator new(std::size_t num_bytes) {
  void* const memory = operator new(num_bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*num_bytes*/) noexcept { std::free(memory); }
#endif

namespace quire {

std::int64_t NumThreadAllocations() { return num_allocations; }

}  // namespace quire
