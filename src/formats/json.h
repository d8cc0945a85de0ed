// JSON values: a small ordered tree, read with a depth limit and written back exactly.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace quire {

class Json;
using JsonArray = std::vector<Json>;

// Members in the order of the text; a look-up of a name that stands twice finds the last one, as
// in Python.
using JsonObject = std::vector<std::pair<std::string, Json>>;

// A JSON value. Integers that fit 64 bits stay integers; other numbers are doubles.
class Json {
 public:
  // Copying, moving and destroying are not inline: users compile faster, and g++ 12 would warn
  // of members that it takes for uninitialised.
  Json() = default;  // null
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  // A value converts to Json, as in JsonArray{1, "two"}.
  // NOLINTBEGIN(google-explicit-constructor)
  Json(std::nullptr_t) {}
  // Booleans and integers; a template, so that a pointer does not become a boolean.
  template <std::integral T>
  Json(T value) {
    if constexpr (std::same_as<T, bool>) {
      value_ = value;
    } else if (std::in_range<std::int64_t>(value)) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(JsonArray value) : value_(std::move(value)) {}
  Json(JsonObject value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_uint64() const { return std::holds_alternative<std::uint64_t>(value_); }  // above int64
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_number() const { return is_int() || is_uint64() || is_double(); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<JsonArray>(value_); }
  bool is_object() const { return std::holds_alternative<JsonObject>(value_); }

  // The value; each only for its own kind (a CHECK), but number() for every number.
  bool boolean() const;
  std::int64_t integer() const;
  std::uint64_t uint64() const;
  double number() const;
  const std::string& string() const;
  const JsonArray& array() const;
  JsonArray& array();
  const JsonObject& object() const;
  JsonObject& object();

  // The member `name`; null where it is absent or this is no object. O(members).
  const Json* Find(std::string_view name) const;

  // The member `name`, made null first where it is absent; this must be an object or null.
  Json& operator[](std::string_view name);

  // "null", "a boolean", "an integer", "a number", "a string", "an array", "an object".
  std::string_view kind() const;

  // Compact text, or indented by `indent` spaces a level; UTF-8 as it is (U+FFFD for each byte
  // that is none), numbers in their shortest exact form with Python's spelling, so an integral
  // double ends in ".0"; NaN and the infinities as Python writes them, which is not JSON.
  std::string Dump(int indent = -1) const;

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, JsonArray,
               JsonObject>
      value_;
};

struct JsonLimits {
  int max_depth = 64;  // nested arrays and objects; the tree's destructor recurses as deep
  std::size_t max_bytes = std::size_t{1} << 30;
  bool unique_names = false;     // a name that stands twice in one object is an error
  bool python_literals = false;  // NaN, Infinity and -Infinity are numbers, as in Python's json
};

// Reads one JSON text, surrounded by white space only. kInvalidArgument with line, column (in
// bytes, from 1) and reason otherwise. Refused are a byte order mark, invalid UTF-8, half of a
// surrogate pair as an escape, and a number too large for a double. Integers past 64 bits become
// doubles. The tree takes up to about 20 times the bytes of the text.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Typed access for readers of configs: the member must be there and of the kind, or the message
// says "NAME: must be an integer, got a string".
Result<std::int64_t> RequireInt(const Json& object, std::string_view name);
Result<double> RequireNumber(const Json& object, std::string_view name);
Result<std::string> RequireString(const Json& object, std::string_view name);
Result<bool> RequireBool(const Json& object, std::string_view name);

// The same, with `fallback` where the member is absent or null.
Result<std::int64_t> IntOr(const Json& object, std::string_view name, std::int64_t fallback);
Result<double> NumberOr(const Json& object, std::string_view name, double fallback);
Result<std::string> StringOr(const Json& object, std::string_view name, std::string fallback);
Result<bool> BoolOr(const Json& object, std::string_view name, bool fallback);

}  // namespace quire
