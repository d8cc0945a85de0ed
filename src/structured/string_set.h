// The strings of a shape as one automaton.
#pragma once

#include <string_view>

#include "base/status.h"
#include "structured/automaton.h"
#include "structured/regex.h"
#include "structured/schema_document.h"
#include "structured/schema_shape.h"

namespace quire::structured {

// The strings in which `pattern` is found (it may be anywhere in them), narrowly or widely read.
Result<Dfa> StringsWith(std::string_view pattern, const RegexOptions& options);

// All strings of a shape, whatever its values are: length, patterns, formats, exclusions.
// Errors name the pointer.
Result<Dfa> StringsOf(const SchemaDocument& document, const Shape& shape);

// The expression without ^ at its start and $ at its end, if it has both there and no anchor
// anywhere else; else nothing changes and the answer is false.
bool StripAnchors(Regex& regex);
bool HasAnchors(const Regex& regex);

}  // namespace quire::structured
