#include "config/field_value.h"

#include <cmath>
#include <limits>

#include "config/token_count.h"

namespace quire {

namespace {

template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

Status WrongKind(std::string_view wanted, const Json& got) {
  return InvalidArgument(StrCat("must be ", wanted, ", got ", got.kind()));
}

template <Integer T>
Status OutOfRange(std::string_view got) {
  return InvalidArgument(StrCat("must be in [", std::numeric_limits<T>::min(), ", ",
                                std::numeric_limits<T>::max(), "], got ", got));
}

// A double that is a whole number and lies in T's range, as T.
template <Integer T>
std::optional<T> WholeNumber(double number) {
  // Both bounds are powers of two (or zero), so they are exact as doubles.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(number >= low && number < high) || number != std::floor(number)) return std::nullopt;
  return static_cast<T>(number);
}

template <Integer T>
Status IntegerFromJson(const Json& value, T& field) {
  if (value.is_int()) {
    if (!std::in_range<T>(value.integer())) return OutOfRange<T>(StrCat(value.integer()));
    field = static_cast<T>(value.integer());
    return {};
  }
  if (value.is_uint64()) {
    if (!std::in_range<T>(value.uint64())) return OutOfRange<T>(StrCat(value.uint64()));
    field = static_cast<T>(value.uint64());
    return {};
  }
  if (!value.is_double()) return WrongKind("an integer", value);
  const std::optional<T> whole = WholeNumber<T>(value.number());
  if (!whole) return InvalidArgument(StrCat("must be an integer, got ", value.number()));
  field = *whole;
  return {};
}

template <Integer T>
Status IntegerFromText(std::string_view text, T& field) {
  if (text.starts_with('-')) {
    const auto number = ParseNumber<std::int64_t>(text);
    if (!number) return InvalidArgument(StrCat("must be an integer, got '", Printable(text), "'"));
    return IntegerFromJson(Json(*number), field);
  }
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t count, ParseTokenCount(text));
  return IntegerFromJson(Json(count), field);
}

template <typename T>
Status OptionalFromJson(const Json& value, std::optional<T>& field) {
  if (value.is_null()) {
    field = std::nullopt;
    return {};
  }
  T parsed{};
  QUIRE_RETURN_IF_ERROR(FieldFromJson(value, parsed));
  field = std::move(parsed);
  return {};
}

template <typename T>
Status OptionalFromText(std::string_view text, std::optional<T>& field) {
  if (text == "none") {
    field = std::nullopt;
    return {};
  }
  T parsed{};
  QUIRE_RETURN_IF_ERROR(FieldFromText(text, parsed));
  field = std::move(parsed);
  return {};
}

}  // namespace

Status FieldFromJson(const Json& value, bool& field) {
  if (value.is_null()) return {};
  if (!value.is_bool()) return WrongKind("a boolean", value);
  field = value.boolean();
  return {};
}

Status FieldFromJson(const Json& value, int& field) {
  return value.is_null() ? Status() : IntegerFromJson(value, field);
}

Status FieldFromJson(const Json& value, std::int64_t& field) {
  return value.is_null() ? Status() : IntegerFromJson(value, field);
}

Status FieldFromJson(const Json& value, double& field) {
  if (value.is_null()) return {};
  if (!value.is_number()) return WrongKind("a number", value);
  field = value.number();
  return {};
}

Status FieldFromJson(const Json& value, std::string& field) {
  if (value.is_null()) return {};
  if (value.is_int()) {
    field = StrCat(value.integer());
    return {};
  }
  if (!value.is_string()) return WrongKind("a string", value);
  field = value.string();
  return {};
}

Status FieldFromJson(const Json& value, Json& field) {
  if (value.is_null()) return {};
  if (!value.is_object()) return WrongKind("an object", value);
  field = value;
  return {};
}

Status FieldFromJson(const Json& value, std::optional<int>& field) {
  return OptionalFromJson(value, field);
}

Status FieldFromJson(const Json& value, std::optional<std::int64_t>& field) {
  return OptionalFromJson(value, field);
}

Status FieldFromJson(const Json& value, std::optional<std::uint64_t>& field) {
  if (value.is_null()) {
    field = std::nullopt;
    return {};
  }
  if (value.is_uint64()) {
    field = value.uint64();
    return {};
  }
  std::int64_t seed = 0;
  QUIRE_RETURN_IF_ERROR(IntegerFromJson(value, seed));
  if (seed == -1) {
    field = std::nullopt;
  } else {
    field = static_cast<std::uint64_t>(seed);
  }
  return {};
}

Status FieldFromJson(const Json& value, std::vector<std::string>& field) {
  if (value.is_null()) return {};
  if (value.is_string()) {
    field = {value.string()};
    return {};
  }
  if (!value.is_array()) return WrongKind("a string or a list of strings", value);
  std::vector<std::string> texts;
  texts.reserve(value.array().size());
  for (const Json& item : value.array()) {
    if (!item.is_string()) {
      return WrongKind("a string or a list of strings", item).With(StrCat("[", texts.size(), "]"));
    }
    texts.push_back(item.string());
  }
  field = std::move(texts);
  return {};
}

Status FieldFromJson(const Json& value, std::vector<TokenId>& field) {
  if (value.is_null()) return {};
  if (!value.is_array()) return WrongKind("a list of token ids", value);
  std::vector<TokenId> ids;
  ids.reserve(value.array().size());
  for (const Json& item : value.array()) {
    TokenId id = 0;
    if (const Status status = IntegerFromJson(item, id); !status.ok()) {
      return status.With(StrCat("[", ids.size(), "]"));
    }
    ids.push_back(id);
  }
  field = std::move(ids);
  return {};
}

Status FieldFromJson(const Json& value, std::optional<std::vector<TokenId>>& field) {
  return OptionalFromJson(value, field);
}

Status FieldFromJson(const Json& value, LogitBias& field) {
  if (value.is_null()) return {};
  if (!value.is_object()) return WrongKind("an object from token ids to numbers", value);
  LogitBias biases;
  biases.reserve(value.object().size());
  for (const auto& [key, bias] : value.object()) {
    const auto id = ParseNumber<TokenId>(key);
    if (!id) {
      return InvalidArgument(StrCat("keys must be token ids, got '", Printable(key), "'"));
    }
    if (!bias.is_number()) return WrongKind("a number", bias).With(StrCat("token ", *id));
    biases.emplace_back(*id, static_cast<float>(bias.number()));
  }
  field = std::move(biases);
  return {};
}

Status FieldFromJson(const Json& value, RepetitionDetection& field) {
  if (value.is_null()) return {};
  if (!value.is_object()) return WrongKind("an object", value);
  RepetitionDetection read;
  for (const auto& [name, member] : value.object()) {
    int* const known = name == "max_pattern_size"   ? &read.max_pattern_size
                       : name == "min_pattern_size" ? &read.min_pattern_size
                       : name == "min_count"        ? &read.min_count
                                                    : nullptr;
    if (known == nullptr) {
      return InvalidArgument(StrCat("has max_pattern_size, min_pattern_size and min_count, got '",
                                    Printable(name), "'"));
    }
    if (const Status status = FieldFromJson(member, *known); !status.ok()) {
      return status.With(name);
    }
  }
  field = read;
  return {};
}

Status FieldFromJson(const Json& value, std::optional<RepetitionDetection>& field) {
  return OptionalFromJson(value, field);
}

Status FieldFromText(std::string_view text, bool& field) {
  for (const std::string_view yes : {"", "true", "1", "yes", "on"}) {
    if (text == yes) {
      field = true;
      return {};
    }
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (text == no) {
      field = false;
      return {};
    }
  }
  return InvalidArgument(StrCat("must be true or false, got '", Printable(text), "'"));
}

Status FieldFromText(std::string_view text, int& field) { return IntegerFromText(text, field); }

Status FieldFromText(std::string_view text, std::int64_t& field) {
  return IntegerFromText(text, field);
}

Status FieldFromText(std::string_view text, double& field) {
  const auto number = ParseNumber<double>(text);
  if (!number) return InvalidArgument(StrCat("must be a number, got '", Printable(text), "'"));
  field = *number;
  return {};
}

Status FieldFromText(std::string_view text, std::string& field) {
  field = text;
  return {};
}

Status FieldFromText(std::string_view text, Json& field) {
  QUIRE_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text));
  return FieldFromJson(parsed, field);
}

Status FieldFromText(std::string_view text, std::optional<int>& field) {
  return OptionalFromText(text, field);
}

Status FieldFromText(std::string_view text, std::optional<std::int64_t>& field) {
  return OptionalFromText(text, field);
}

Status FieldFromText(std::string_view text, std::optional<std::uint64_t>& field) {
  if (text == "none") {
    field = std::nullopt;
    return {};
  }
  if (const auto seed = ParseNumber<std::uint64_t>(text)) {
    field = *seed;
    return {};
  }
  const auto negative = ParseNumber<std::int64_t>(text);
  if (!negative) {
    return InvalidArgument(StrCat("must be an integer of 64 bits, got '", Printable(text), "'"));
  }
  return FieldFromJson(Json(*negative), field);
}

Status FieldFromText(std::string_view text, std::vector<std::string>& field) {
  field.emplace_back(text);
  return {};
}

Status FieldFromText(std::string_view text, std::vector<TokenId>& field) {
  std::vector<TokenId> ids;
  for (const std::string_view part : Split(text, ',')) {
    const auto id = ParseNumber<TokenId>(part);
    if (!id) {
      return InvalidArgument(
          StrCat("must be token ids with commas between, got '", Printable(text), "'"));
    }
    ids.push_back(*id);
  }
  field.insert(field.end(), ids.begin(), ids.end());
  return {};
}

Status FieldFromText(std::string_view text, std::optional<std::vector<TokenId>>& field) {
  std::vector<TokenId> ids = field.value_or(std::vector<TokenId>());
  QUIRE_RETURN_IF_ERROR(FieldFromText(text, ids));
  field = std::move(ids);
  return {};
}

Status FieldFromText(std::string_view text, LogitBias& field) {
  QUIRE_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text));
  LogitBias biases;
  QUIRE_RETURN_IF_ERROR(FieldFromJson(parsed, biases));
  field.insert(field.end(), biases.begin(), biases.end());
  return {};
}

Status FieldFromText(std::string_view text, RepetitionDetection& field) {
  QUIRE_ASSIGN_OR_RETURN(const Json parsed, ParseJson(text));
  return FieldFromJson(parsed, field);
}

Status FieldFromText(std::string_view text, std::optional<RepetitionDetection>& field) {
  return OptionalFromText(text, field);
}

Json FieldToJson(const std::vector<std::string>& field) {
  return Json(JsonArray(field.begin(), field.end()));
}

Json FieldToJson(const std::vector<TokenId>& field) {
  return Json(JsonArray(field.begin(), field.end()));
}

Json FieldToJson(const LogitBias& field) {
  JsonObject members;
  members.reserve(field.size());
  for (const auto& [id, bias] : field) members.emplace_back(StrCat(id), Json(double{bias}));
  return Json(std::move(members));
}

Json FieldToJson(const RepetitionDetection& field) {
  return Json(JsonObject{{"max_pattern_size", Json(field.max_pattern_size)},
                         {"min_pattern_size", Json(field.min_pattern_size)},
                         {"min_count", Json(field.min_count)}});
}

}  // namespace quire
