// How often a test program allocates; a program that links `quire_count_allocations` has it.
#pragma once

#include <cstdint>

namespace quire {

// Calls of operator new so far, and of those the ones not given back. Both stay 0 under a
// sanitizer, which keeps operators of its own. Any thread.
std::int64_t NumAllocations();
std::int64_t NumLiveAllocations();

}  // namespace quire
