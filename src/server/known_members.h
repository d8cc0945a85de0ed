// Members of nested objects that a field's JSON schema does not know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace quire {

struct UnknownMember {
  std::string path;     // "messages[0].contnet"
  std::string nearest;  // the known name that is most like it; empty: none is
};

// Appends the members of `value`, and of what it holds, that no "properties" of `schema` lists; an
// object whose schema lists none is free. At most 64 in `out`.
void FindUnknownMembers(const Json& value, const Json& schema, std::string_view name,
                        std::vector<UnknownMember>& out);

// `text`, a schema written in a source.
Json ReadSchemaText(std::string_view text);

// The schema of a kind of JSON field, read once.
template <typename Schema>
const Json& SchemaOfField() {
  static const Json& schema = *new Json(ReadSchemaText(Schema::kText));
  return schema;
}

}  // namespace quire
