// Where a user-perceived character ends (extended grapheme clusters, Unicode 15.0).
#pragma once

#include <cstddef>
#include <string_view>

namespace quire {

// Bytes of the first grapheme cluster of valid UTF-8 that is not empty.
std::size_t FirstGrapheme(std::string_view text);

}  // namespace quire
