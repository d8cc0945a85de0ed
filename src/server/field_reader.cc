#include "server/field_reader.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/strings.h"

namespace quire {
namespace {

Status WrongKind(std::string_view wanted, const Json& got) {
  return InvalidArgument(StrCat("must be ", wanted, ", got ", got.kind()));
}

// An integer, also one spelled with a fraction of zero.
Result<std::int64_t> IntegerOf(const Json& value) {
  if (value.is_int()) return value.integer();
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.is_double() && std::trunc(value.number()) == value.number() &&
      std::abs(value.number()) <= kExact) {
    return static_cast<std::int64_t>(value.number());
  }
  if (value.is_number()) {
    return InvalidArgument(StrCat("must be an integer of 64 bits, got ", value.Dump()));
  }
  return WrongKind("an integer", value);
}

template <typename T>
Result<T> IntegerIn(const Json& value) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t number, IntegerOf(value));
  if (!std::in_range<T>(number)) {
    return InvalidArgument(StrCat("must be in [", std::numeric_limits<T>::min(), ", ",
                                  std::numeric_limits<T>::max(), "], got ", number));
  }
  return static_cast<T>(number);
}

bool IsEmpty(const Json& value) {
  return value.is_null() || (value.is_bool() && !value.boolean()) ||
         (value.is_number() && value.number() == 0.0) ||
         (value.is_string() && value.string().empty()) ||
         (value.is_array() && value.array().empty()) ||
         (value.is_object() && value.object().empty());
}

}  // namespace

FieldReader::FieldReader(Json& object) : members_(object.object()), is_known_(members_.size()) {}

Json* FieldReader::Take(std::string_view name) {
  Json* value = nullptr;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].first != name) continue;
    is_known_[i] = true;
    value = &members_[i].second;
  }
  return value;
}

void FieldReader::Note(std::string_view name, const Status& status) {
  if (!status.ok()) status_ = status.With(name);
}

std::vector<std::string> FieldReader::UnknownNames() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!is_known_[i]) names.push_back(members_[i].first);
  }
  return names;
}

Status FieldReader::Read(const Json& value, bool& field) {
  if (value.is_null()) return {};
  if (!value.is_bool()) return WrongKind("true or false", value);
  field = value.boolean();
  return {};
}

Status FieldReader::Read(const Json& value, int& field) {
  if (value.is_null()) return {};
  QUIRE_ASSIGN_OR_RETURN(field, IntegerIn<int>(value));
  return {};
}

Status FieldReader::Read(const Json& value, std::int64_t& field) {
  if (value.is_null()) return {};
  QUIRE_ASSIGN_OR_RETURN(field, IntegerOf(value));
  return {};
}

Status FieldReader::Read(const Json& value, std::uint64_t& field) {
  if (value.is_uint64()) {
    field = value.uint64();
    return {};
  }
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t number, IntegerOf(value));
  field = static_cast<std::uint64_t>(number);
  return {};
}

Status FieldReader::Read(const Json& value, std::optional<std::uint64_t>& field) {
  field.reset();
  if (value.is_null() || (value.is_int() && value.integer() == -1)) return {};
  return Read(value, field.emplace());
}

Status FieldReader::Read(const Json& value, double& field) {
  if (value.is_null()) return {};
  if (!value.is_number()) return WrongKind("a number", value);
  field = value.number();
  return {};
}

Status FieldReader::Read(const Json& value, std::string& field) {
  if (value.is_null()) return {};
  if (!value.is_string()) return WrongKind("a string", value);
  field = value.string();
  return {};
}

Status FieldReader::Read(const Json& value, std::vector<std::string>& field) {
  field.clear();
  if (value.is_null()) return {};
  if (value.is_string()) {  // stop is one string or several; a lone one is taken everywhere
    field.push_back(value.string());
    return {};
  }
  if (!value.is_array()) return WrongKind("a list of strings", value);
  for (const Json& item : value.array()) {
    if (!item.is_string()) return WrongKind("a list of strings", item).With("item");
    field.push_back(item.string());
  }
  return {};
}

Status FieldReader::Read(const Json& value, std::vector<TokenId>& field) {
  field.clear();
  if (value.is_null()) return {};
  if (!value.is_array()) return WrongKind("a list of token ids", value);
  for (const Json& item : value.array()) {
    QUIRE_ASSIGN_OR_RETURN(const TokenId id, IntegerIn<TokenId>(item));
    field.push_back(id);
  }
  return {};
}

Status FieldReader::Read(const Json& value, std::vector<std::pair<TokenId, float>>& field) {
  field.clear();
  if (value.is_null()) return {};
  if (!value.is_object()) return WrongKind("an object from token ids to numbers", value);
  for (const auto& [name, bias] : value.object()) {
    const std::optional<TokenId> id = ParseNumber<TokenId>(name);
    if (!id) {
      return InvalidArgument(StrCat("names must be token ids, got \"", Printable(name), "\""));
    }
    if (!bias.is_number()) return WrongKind("an object from token ids to numbers", bias);
    field.emplace_back(*id, static_cast<float>(bias.number()));
  }
  return {};
}

Status FieldReader::Read(Json& value, JsonField& field) {
  field.value = std::move(value);
  return {};
}

Status FieldReader::Read(const Json& /*value*/, const AcceptedField& /*field*/) { return {}; }

Status FieldReader::Read(const Json& value, const RefusedField& field) {
  if (IsEmpty(value) || (!field.neutral.empty() && value.Dump() == field.neutral)) return {};
  return InvalidArgument("is not served here; leave it out");
}

}  // namespace quire
