// A JSON schema as it was given, with what refers into it.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/json.h"

namespace quire::structured {

// Owns the schema and whatever is made from it; addresses of its parts stay valid.
class SchemaDocument {
 public:
  // kInvalidArgument where it is no JSON, no schema, or too deep.
  static Result<SchemaDocument> Parse(std::string_view text);

  const Json& root() const { return nodes_.front(); }

  // Where a $ref of this document leads. kInvalidArgument names a reference that leads nowhere,
  // kUnimplemented one that leads to another document: nothing is fetched.
  Result<const Json*> Resolve(const Json& at, const std::string& reference) const;

  // The JSON pointer of a part, as "#/properties/a"; of a part that was made, that of what it was
  // made from.
  std::string PointerOf(const Json& part) const;

  // Keeps a schema that was made from `origin`.
  const Json& Make(const Json& origin, Json schema);

  // In a made schema, an object with this one member stands for another schema: its number.
  static constexpr std::string_view kSame = "\x01same";
  Json SameAs(const Json& schema);
  // The schema itself, or the one that it stands for.
  const Json& Follow(const Json& schema) const;

 private:
  SchemaDocument() = default;

  std::deque<Json> nodes_;  // the root, then made ones
  std::map<const Json*, const Json*> origins_;
  std::deque<const Json*> same_;
  std::map<std::string, const Json*> named_;  // by $id and #$anchor; null: several
};

// "#/a/b: message", as errors of schemas read.
Status SchemaError(Code code, const std::string& pointer, std::string_view message);

}  // namespace quire::structured
