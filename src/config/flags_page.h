// docs/flags.md, made from the lists of fields.
#pragma once

#include <string>

namespace quire {

// The whole page, in Markdown.
std::string FlagsPage();

}  // namespace quire
