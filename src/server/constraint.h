// From what a request says of the shape of its answer to the engine's constraint.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "formats/json.h"
#include "request/structured_output_params.h"
#include "server/field_names.h"
#include "server/request_fields.h"

namespace quire {

using Constraint = std::shared_ptr<const StructuredOutputParams>;

// The one constraint that the fields ask for; null: none. kInvalidArgument names the field, and
// the fields where there are several. Whether the engine can follow it is the engine's to say;
// `names` gets the field for what it will say.
Result<Constraint> ReadConstraint(const ConstraintFields& fields, FieldNames& names);

// What the engine says of a constraint is said of `field`.
void NameConstraint(const std::string& field, FieldNames& names);

// A constraint to JSON of this schema.
Constraint SchemaConstraint(const Json& schema);

}  // namespace quire
