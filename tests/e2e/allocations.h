// How often this program has asked for memory.
#pragma once

#include <cstdint>

namespace quire {

std::int64_t NumAllocations();

}  // namespace quire
