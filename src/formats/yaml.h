// YAML as configuration files use it, read into Json.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "formats/json.h"

namespace quire {

struct YamlLimits {
  int max_depth = 32;
  std::size_t max_bytes = std::size_t{1} << 20;
};

// Reads one document of mappings, sequences and scalars; an empty one is null. Plain scalars that
// look like null, a boolean or a number are that (YAML 1.2's core schema); names of members are
// always strings. kInvalidArgument with line and reason otherwise; refused too are anchors,
// aliases, tags, a second document, and a name that stands twice in one mapping.
Result<Json> ParseYaml(std::string_view text, const YamlLimits& limits = {});

}  // namespace quire
