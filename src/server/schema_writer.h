// JSON schemas of requests, made from their lists of fields.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/id.h"
#include "formats/json.h"
#include "server/known_members.h"
#include "server/request_fields.h"

namespace quire {

// The visitor that writes one property a field; a default is the value that the field begins with.
class SchemaWriter {
 public:
  template <typename T>
  void operator()(std::string_view name, T&& field, std::string_view help) {
    Add(name, SchemaOf(field), help);
  }
  template <typename T>
  void operator()(std::string_view name, Required<T>& field, std::string_view help) {
    required_.emplace_back(name);
    Add(name, SchemaOf(static_cast<T&>(field)), help);
  }

  // The schema of the object.
  Json Take() &&;

 private:
  static Json TypeOr(std::string_view type, bool or_null, Json fallback);
  static Json ListOf(std::string_view type, bool or_one);
  static Json OneOf(std::span<const std::string_view> words);

  static Json SchemaOf(bool field) { return TypeOr("boolean", true, Json(field)); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) static Json SchemaOf(T field) {
    return TypeOr("integer", true, Json(field));
  }
  static Json SchemaOf(double field) { return TypeOr("number", true, Json(field)); }
  static Json SchemaOf(const std::string& /*field*/) { return TypeOr("string", true, Json()); }
  static Json SchemaOf(const std::vector<std::string>& /*field*/) { return ListOf("string", true); }
  static Json SchemaOf(const std::vector<TokenId>& /*field*/) { return ListOf("integer", false); }
  static Json SchemaOf(const std::vector<std::pair<TokenId, float>>& field);
  static Json SchemaOf(const std::optional<RepetitionDetection>& /*field*/) {
    return SchemaOfField<RepetitionSchema>();
  }
  static Json SchemaOf(const StringList& /*field*/) { return ListOf("string", false); }
  static Json SchemaOf(const AcceptedField& /*field*/) { return Json(JsonObject{}); }
  static Json SchemaOf(const IgnoredField& /*field*/) { return Json(JsonObject{}); }
  static Json SchemaOf(const RefusedField& field);
  template <typename Schema>
  static Json SchemaOf(const JsonFieldOf<Schema>& /*field*/) {
    return SchemaOfField<Schema>();
  }
  template <typename Words>
  static Json SchemaOf(const WordOf<Words>& /*field*/) {
    return OneOf(Words::kWords);
  }
  template <typename T>
  static Json SchemaOf(const std::optional<T>& field) {
    if (field) return SchemaOf(*field);
    Json schema = SchemaOf(T());
    std::erase_if(schema.object(), [](const auto& member) { return member.first == "default"; });
    return schema;
  }

  void Add(std::string_view name, Json schema, std::string_view help);

  JsonObject properties_;
  std::vector<std::string> required_;
};

}  // namespace quire
