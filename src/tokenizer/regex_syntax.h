// Oniguruma's regular expressions in PCRE2's spelling.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace quire {

// Rewrites what the two understand differently: \w, \s and \d by Unicode properties, \h, set
// operations in brackets ([a&&[^b]]), (?m) for a dot that matches line ends.
// kInvalidArgument for what cannot be said in PCRE2, and for brackets nested past 16.
Result<std::string> TranslateRegex(std::string_view source);

}  // namespace quire
