// The keywords that constrain a value without a choice.
#pragma once

#include "base/status.h"
#include "formats/json.h"
#include "structured/schema_document.h"
#include "structured/schema_shape.h"

namespace quire::structured {

// Puts type, bounds, lengths, patterns, items, members and so on of one schema over `shape`; false
// where nothing can conform any more. kInvalidArgument and kUnimplemented name pointer and keyword.
Result<bool> ApplyKeywords(const SchemaDocument& document, const Json& schema, Shape& shape);

// In made schemas: what a value must not be.
inline constexpr std::string_view kNotMultipleOf = "\x01notMultipleOf";
inline constexpr std::string_view kNotPattern = "\x01notPattern";
inline constexpr std::string_view kNotValues = "\x01notValues";

// A schema for each value of a list, or the list's complaint.
Result<const JsonArray*> SchemaList(const SchemaDocument& document, const Json& schema,
                                    std::string_view keyword);
// The member `keyword` as a schema.
Result<const Json*> SubSchema(const SchemaDocument& document, const Json& schema,
                              std::string_view keyword);

Status KeywordError(const SchemaDocument& document, Code code, const Json& schema,
                    std::string_view keyword, std::string_view message);

}  // namespace quire::structured
