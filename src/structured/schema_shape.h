// What one way through a schema's choices asks of a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/json.h"
#include "structured/number_text.h"
#include "structured/regex.h"

namespace quire::structured {

// Schemas that hold at once, in the order in which they were met.
using Conjunction = std::vector<const Json*>;

// Kinds of values; bits.
enum ValueKind : unsigned {
  kNullKind = 1,
  kFalseKind = 2,
  kTrueKind = 4,
  kNumberKind = 8,
  kStringKind = 16,
  kArrayKind = 32,
  kObjectKind = 64,
  kAllKinds = 127,
};

struct NumberBound {
  unsigned relations = 0;
  Decimal bound;
};

struct NumberStep {
  Decimal step;
  bool is_multiple = true;  // or must not be one
};

struct PatternRule {
  std::string pattern;
  bool must_match = true;
  const Json* at = nullptr;
};

// Keywords for items that stand beside each other in one schema.
struct ArrayPart {
  const JsonArray* prefix = nullptr;  // may be null
  const Json* rest = nullptr;         // null: any
};

struct ContainsRule {
  const Json* schema = nullptr;
  std::int64_t min = 1;
  std::int64_t max = kUnbounded;
};

// Keywords for members that stand beside each other in one schema.
struct ObjectPart {
  const JsonObject* properties = nullptr;  // each may be null
  const JsonObject* patterns = nullptr;
  const Json* additional = nullptr;
};

// All keywords hold at once; those of other kinds than the value's say nothing.
struct Shape {
  unsigned kinds = kAllKinds;
  std::optional<std::vector<const Json*>> values;  // scalars, one of which it is
  std::vector<const Json*> excluded;               // scalars that it is not

  bool is_integer = false;
  std::vector<NumberBound> bounds;
  std::vector<NumberStep> steps;

  std::int64_t min_length = 0;
  std::int64_t max_length = kUnbounded;
  std::vector<PatternRule> patterns;
  std::vector<PatternRule> formats;

  std::vector<ArrayPart> arrays;
  std::int64_t min_items = 0;
  std::int64_t max_items = kUnbounded;
  const Json* unique = nullptr;  // the schema that asks for it
  std::vector<ContainsRule> contains;

  std::vector<ObjectPart> objects;
  std::vector<std::string> required;
  std::int64_t min_members = 0;
  std::int64_t max_members = kUnbounded;
  const Json* min_members_at = nullptr;
  std::vector<const Json*> names;  // schemas of member names
};

// Equal as JSON Schema has it: numbers by value, members in any order.
bool IsSameValue(const Json& a, const Json& b);

unsigned KindOf(const Json& value);

}  // namespace quire::structured
