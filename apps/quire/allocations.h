// How often a thread of the program allocates, for the measurements that promise it does not.
#pragma once

#include <cstdint>

namespace quire {

// Calls of operator new by this thread so far; 0 under a sanitizer, which keeps operators of its
// own.
std::int64_t NumThreadAllocations();

}  // namespace quire
