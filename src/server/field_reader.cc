#include "server/field_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/strings.h"

namespace quire {
namespace {

Status WrongKind(std::string_view wanted, const Json& got) {
  return InvalidArgument(StrCat("must be ", wanted, ", got ", got.kind()));
}

// An integer, also one spelled with a fraction of zero, as a string, or as true or false.
Result<std::int64_t> IntegerOf(const Json& value) {
  if (value.is_int()) return value.integer();
  if (value.is_bool()) return value.boolean() ? 1 : 0;
  if (value.is_string()) {
    if (const auto number = ParseNumber<std::int64_t>(value.string())) return *number;
  }
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

bool IsNeutral(const Json& value, std::string_view neutral) {
  return IsEmpty(value) || (!neutral.empty() && value.Dump() == neutral);
}

// Enough of a value to be recognised.
std::string Shown(const Json& value) {
  constexpr std::size_t kMaxShown = 64;
  return value.is_array() || value.is_object() ? std::string(value.kind())
                                               : Printable(value.Dump(), kMaxShown);
}

}  // namespace

FieldReader::FieldReader(Json& object) : members_(object.object()), is_known_(members_.size()) {}

Json* FieldReader::Take(std::string_view name) {
  Json* value = nullptr;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].first != name) continue;
    is_known_[i] = true;
    if (value != nullptr && (notes_.repeated.empty() || notes_.repeated.back() != name)) {
      notes_.repeated.emplace_back(name);
    }
    value = &members_[i].second;
  }
  return value;
}

void FieldReader::Note(std::string_view name, const Status& status) {
  if (!status.ok()) status_ = status.With(name);
}

FieldNotes FieldReader::TakeNotes() && {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!is_known_[i]) notes_.unknown.push_back(members_[i].first);
  }
  if (notes_.unknown.empty() && !unknown_members_.empty()) {
    notes_.nearest_member = std::move(unknown_members_.front().nearest);
  }
  for (UnknownMember& member : unknown_members_) notes_.unknown.push_back(std::move(member.path));
  return std::move(notes_);
}

void FieldReader::Fill(std::string_view name, Json& value, IgnoredField& field) {
  if (!IsNeutral(value, field.neutral)) notes_.ignored.emplace_back(name);
}

void FieldReader::Fill(std::string_view name, Json& value,
                       std::optional<RepetitionDetection>& field) {
  field.reset();
  if (value.is_null()) return;
  if (!value.is_object()) return Note(name, WrongKind("an object", value));
  FindUnknownMembers(value, SchemaOfField<RepetitionSchema>(), name, unknown_members_);
  RepetitionDetection& read = field.emplace();
  for (const auto& [member, number] : {std::pair("max_pattern_size", &read.max_pattern_size),
                                       std::pair("min_pattern_size", &read.min_pattern_size),
                                       std::pair("min_count", &read.min_count)}) {
    const Json* const given = value.Find(member);
    if (given == nullptr || !status_.ok()) continue;
    if (const Status status = Read(*given, *number); !status.ok()) {
      Note(name, status.With(member));
    }
  }
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
    return InvalidArgument(StrCat("must be an integer of 64 bits, at most ",
                                  std::numeric_limits<std::int64_t>::max(), ", got ",
                                  value.Dump()));
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
  if (value.is_string()) {
    const auto number = ParseNumber<double>(value.string());
    if (!number || !std::isfinite(*number)) return WrongKind("a number", value);
    field = *number;
    return {};
  }
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
    double number = 0;
    if (bias.is_null() || !Read(bias, number).ok()) {
      return WrongKind("an object from token ids to numbers", bias);
    }
    field.emplace_back(*id, static_cast<float>(number));
  }
  return {};
}

Status FieldReader::Read(const Json& value, StringList& field) {
  if (value.is_string()) return WrongKind("a list of strings", value);
  return Read(value, static_cast<std::vector<std::string>&>(field));
}

Status FieldReader::ReadWord(const Json& value, std::span<const std::string_view> words,
                             std::optional<std::string>& field) {
  field.reset();
  if (value.is_null()) return {};
  const bool is_known =
      value.is_string() && std::ranges::find(words, value.string()) != words.end();
  if (!is_known) {
    return InvalidArgument(StrCat("must be one of ", Join(words, ", "), ", got ", Shown(value)));
  }
  field = value.string();
  return {};
}

Status FieldReader::Read(const Json& /*value*/, const AcceptedField& /*field*/) { return {}; }

Status FieldReader::Read(const Json& value, const RefusedField& field) {
  if (IsNeutral(value, field.neutral)) return {};
  if (!field.neutral.empty()) {
    return InvalidArgument(StrCat("must be ", field.neutral, " here, got ", Shown(value)));
  }
  return InvalidArgument(StrCat("is not served here", field.reason, "; leave it out"));
}

}  // namespace quire
