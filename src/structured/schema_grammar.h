// From a JSON schema to a grammar of exactly the texts that conform to it.
#pragma once

#include <string_view>

#include "base/status.h"
#include "structured/grammar.h"
#include "structured/json_text.h"

namespace quire::structured {

struct SchemaOptions {
  // Where a schema has properties and says nothing of others, there are none.
  bool closes_objects = false;
};

// A rule for the texts of values that conform to `schema`, in json's grammar. All that the rule
// admits conforms. Of what conforms these are left out: members in another order than that of
// `properties`; numbers written with an exponent where a keyword bounds them, integers with a
// fraction; printable ASCII written as an escape where a pattern or a length holds; some strings of
// a few formats.
//
//   kInvalidArgument    names pointer and keyword: no schema, a reference that leads nowhere
//   kUnimplemented      names pointer and keyword: what cannot be enforced
//   kResourceExhausted  too large
Result<Grammar::Rule> CompileSchema(std::string_view schema, const SchemaOptions& options,
                                    JsonText& json);

}  // namespace quire::structured
