#include "server/schema_writer.h"

#include <utility>

namespace quire {

Json SchemaWriter::Take() && {
  Json schema;
  schema["type"] = Json("object");
  schema["properties"] = Json(std::move(properties_));
  if (!required_.empty()) {
    JsonArray names;
    names.reserve(required_.size());
    for (std::string& name : required_) names.emplace_back(std::move(name));
    schema["required"] = Json(std::move(names));
  }
  return schema;
}

Json SchemaWriter::TypeOr(std::string_view type, bool or_null, Json fallback) {
  Json schema;
  schema["type"] = or_null ? Json(JsonArray{Json(type), Json("null")}) : Json(type);
  if (!fallback.is_null()) schema["default"] = std::move(fallback);
  return schema;
}

Json SchemaWriter::ListOf(std::string_view type, bool or_one) {
  Json schema;
  JsonArray types{Json("array"), Json("null")};
  if (or_one) types.emplace_back(type);
  schema["type"] = Json(std::move(types));
  schema["items"] = Json(JsonObject{{"type", Json(type)}});
  return schema;
}

Json SchemaWriter::OneOf(std::span<const std::string_view> words) {
  JsonArray values;
  for (const std::string_view word : words) values.emplace_back(word);
  values.emplace_back();
  return Json(JsonObject{{"enum", Json(std::move(values))}});
}

Json SchemaWriter::SchemaOf(const std::vector<std::pair<TokenId, float>>& /*field*/) {
  Json schema;
  schema["type"] = Json(JsonArray{Json("object"), Json("null")});
  schema["additionalProperties"] = Json(JsonObject{{"type", Json("number")}});
  return schema;
}

Json SchemaWriter::SchemaOf(const RefusedField& field) {
  JsonArray values{Json()};
  if (!field.neutral.empty()) values.push_back(ReadSchemaText(field.neutral));
  return Json(JsonObject{{"enum", Json(std::move(values))}});
}

void SchemaWriter::Add(std::string_view name, Json schema, std::string_view help) {
  if (!help.empty()) schema["description"] = Json(help);
  properties_.emplace_back(std::string(name), std::move(schema));
}

}  // namespace quire
