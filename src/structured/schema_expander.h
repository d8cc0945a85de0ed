// From schemas with choices in them to shapes without.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "structured/schema_document.h"
#include "structured/schema_shape.h"

namespace quire::structured {

// Applies references, allOf, anyOf, oneOf, not, if and what depends on members, so that a value
// conforms to a conjunction exactly when it conforms to one of its shapes.
class SchemaExpander {
 public:
  explicit SchemaExpander(SchemaDocument& document) : document_(document) {}

  //   kInvalidArgument   names pointer and keyword: a keyword with a value that it cannot have, a
  //                      reference that leads nowhere or only to itself
  //   kUnimplemented     names pointer and keyword: what cannot be enforced
  //   kResourceExhausted the choices multiply beyond bounds
  Result<std::vector<Shape>> Expand(const Conjunction& conjunction);

  SchemaDocument& document() { return document_; }
  const SchemaDocument& document() const { return document_; }

  // A schema for exactly the values that do not conform to `schema`.
  Result<const Json*> Negate(const Json& schema);

  Status Error(Code code, const Json& schema, std::string_view keyword,
               std::string_view message) const;

 private:
  // A schema that is still to be applied, and which applied one led to it (-1: none).
  struct Pending {
    const Json* schema = nullptr;
    int parent = -1;
  };
  // Options of which one holds, each a conjunction.
  struct Choice {
    std::vector<Conjunction> options;
    int parent = -1;
  };
  // One way through the choices.
  struct Path {
    std::vector<Pending> applied;
    std::vector<Pending> pending;  // the next one last
    std::vector<Choice> choices;   // taken when nothing is pending
    std::size_t num_chosen = 0;
    Shape shape;
  };

  Status Run(Path path, std::vector<Shape>& shapes);
  // Applies what is pending; false where nothing can conform any more.
  Result<bool> ApplyPending(Path& path);
  Result<bool> Apply(const Json& schema, Path& path);
  Status AddConjuncts(const Json& schema, Path& path);
  Status AddChoices(const Json& schema, Path& path);
  Status AddCondition(const Json& schema, Path& path);
  Status AddDependents(const Json& schema, std::string_view keyword, Path& path);
  Status AddOneOf(const Json& schema, Path& path);
  Status AddValues(const Json& schema, Path& path);
  Result<bool> AreDisjoint(const Json& a, const Json& b);
  Result<bool> IsEmpty(const Shape& shape);
  const Json& Constant(const Json& value);
  // Each adds the ways in which a value can fail to conform.
  Status NegateValues(const Json& schema, JsonArray& ways) const;
  Status NegateParts(const Json& schema, JsonArray& ways);
  Status NegateItems(const Json& schema, JsonArray& ways);

  SchemaDocument& document_;
  std::map<const Json*, const Json*> negations_;
  std::map<const Json*, const Json*> constants_;
  std::map<const Json*, std::vector<Conjunction>> one_of_;
  int num_steps_ = 0;
  int depth_ = 0;
};

}  // namespace quire::structured
