// The string formats of JSON Schema as sets of texts.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "structured/automaton.h"

namespace quire::structured {

// The texts of a format, or fewer: an unusual spelling may be left out. nullopt for a name that
// JSON Schema does not define, which constrains nothing. kUnimplemented for one that it defines and
// that is not known here.
Result<std::optional<Dfa>> TextsOfFormat(std::string_view name);

}  // namespace quire::structured
