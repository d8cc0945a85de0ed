// Fields from text (a command line) and from JSON (files, request bodies), and back to JSON: one
// overload per type of field. Messages say what was wanted and what was there; the caller puts the
// field's name before them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "config/enum_names.h"
#include "formats/json.h"
#include "request/sampling_params.h"

namespace quire {

using LogitBias = std::vector<std::pair<TokenId, float>>;

// JSON null leaves a field as it is, but empties an optional one. A number without a fraction (5.0)
// is an integer too.
Status FieldFromJson(const Json& value, bool& field);
Status FieldFromJson(const Json& value, int& field);
Status FieldFromJson(const Json& value, std::int64_t& field);
Status FieldFromJson(const Json& value, double& field);
Status FieldFromJson(const Json& value, std::string& field);  // an integer becomes its digits
Status FieldFromJson(const Json& value, Json& field);
Status FieldFromJson(const Json& value, std::optional<int>& field);
Status FieldFromJson(const Json& value, std::optional<std::int64_t>& field);
Status FieldFromJson(const Json& value, std::optional<std::uint64_t>& field);  // a seed; -1: none
Status FieldFromJson(const Json& value, std::vector<std::string>& field);      // one or a list
Status FieldFromJson(const Json& value, std::vector<TokenId>& field);
Status FieldFromJson(const Json& value, std::optional<std::vector<TokenId>>& field);
Status FieldFromJson(const Json& value, LogitBias& field);            // {"id": bias, …}
Status FieldFromJson(const Json& value, RepetitionDetection& field);  // all of its members or some
Status FieldFromJson(const Json& value, std::optional<RepetitionDetection>& field);

// Numbers as ParseTokenCount reads them where they are integers; lists of token ids with commas
// between; what has the form of JSON as JSON. Lists are added to, so that a flag may stand several
// times. An empty text is `true` for a bool: a flag without a value.
Status FieldFromText(std::string_view text, bool& field);
Status FieldFromText(std::string_view text, int& field);
Status FieldFromText(std::string_view text, std::int64_t& field);
Status FieldFromText(std::string_view text, double& field);
Status FieldFromText(std::string_view text, std::string& field);
Status FieldFromText(std::string_view text, Json& field);
Status FieldFromText(std::string_view text, std::optional<int>& field);
Status FieldFromText(std::string_view text, std::optional<std::int64_t>& field);
Status FieldFromText(std::string_view text, std::optional<std::uint64_t>& field);
Status FieldFromText(std::string_view text, std::vector<std::string>& field);
Status FieldFromText(std::string_view text, std::vector<TokenId>& field);
Status FieldFromText(std::string_view text, std::optional<std::vector<TokenId>>& field);
Status FieldFromText(std::string_view text, LogitBias& field);
Status FieldFromText(std::string_view text, RepetitionDetection& field);
Status FieldFromText(std::string_view text, std::optional<RepetitionDetection>& field);

template <NamedEnum Enum>
Status FieldFromText(std::string_view text, Enum& field) {
  QUIRE_ASSIGN_OR_RETURN(field, ParseEnum<Enum>(text));
  return {};
}

template <NamedEnum Enum>
Status FieldFromJson(const Json& value, Enum& field) {
  if (value.is_null()) return {};
  if (!value.is_string()) return InvalidArgument(StrCat("must be a string, got ", value.kind()));
  return FieldFromText(value.string(), field);
}

Json FieldToJson(const std::vector<std::string>& field);
Json FieldToJson(const std::vector<TokenId>& field);
Json FieldToJson(const LogitBias& field);
Json FieldToJson(const RepetitionDetection& field);

template <typename T>
Json FieldToJson(const T& field) {
  if constexpr (NamedEnum<T>) {
    return Json(ToString(field));
  } else {
    return Json(field);
  }
}

template <typename T>
Json FieldToJson(const std::optional<T>& field) {
  return field ? FieldToJson(*field) : Json();
}

}  // namespace quire
