// From what a request says of the shape of its answer to the engine's constraint.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "formats/json.h"
#include "request/structured_output_params.h"
#include "server/request_fields.h"

namespace quire {

using Constraint = std::shared_ptr<const StructuredOutputParams>;

// The one constraint that the fields ask for; null: none. kInvalidArgument names the field, and
// the fields where there are several. Whether the engine can follow it is the engine's to say.
Result<Constraint> ReadConstraint(const ConstraintFields& fields);

// A constraint to JSON of this schema.
Constraint SchemaConstraint(const Json& schema);

}  // namespace quire
