// Reads a request out of JSON by the request's list of fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "formats/json.h"
#include "server/known_members.h"
#include "server/request_fields.h"

namespace quire {

// What a request says that has no effect.
struct FieldNotes {
  std::vector<std::string> unknown;   // names that no field has, then those inside of fields
  std::string nearest_member;         // to the first one inside of a field; may be empty
  std::vector<std::string> ignored;   // IgnoredFields
  std::vector<std::string> repeated;  // given more than once; the last one counts

  bool is_empty() const { return unknown.empty() && ignored.empty() && repeated.empty(); }
};

// The visitor that fills the fields in. Null is the same as absent, but that it empties an
// optional field.
class FieldReader {
 public:
  // `object` is an object and outlives this; values of JsonFields are moved out of it.
  explicit FieldReader(Json& object);

  template <typename T>
  void operator()(std::string_view name, T&& field, std::string_view /*help*/) {
    if (Json* value = Take(name); value != nullptr && status_.ok()) Fill(name, *value, field);
  }
  template <typename T>
  void operator()(std::string_view name, Required<T>& field, std::string_view /*help*/) {
    Json* value = Take(name);
    if (!status_.ok()) return;
    if (value == nullptr || value->is_null()) {
      status_ = InvalidArgument(std::string(name) + ": is required");
    } else {
      Fill(name, *value, static_cast<T&>(field));
    }
  }

  const Status& status() const { return status_; }
  // One of `words`, or null for none of them.
  static Status ReadWord(const Json& value, std::span<const std::string_view> words,
                         std::optional<std::string>& field);

  // What is to be said of the fields that were read.
  FieldNotes TakeNotes() &&;

 private:
  Json* Take(std::string_view name);
  void Note(std::string_view name, const Status& status);
  template <typename T>
  void Fill(std::string_view name, Json& value, T& field) {
    Note(name, Read(value, field));
  }
  template <typename Schema>
  void Fill(std::string_view name, Json& value, JsonFieldOf<Schema>& field) {
    FindUnknownMembers(value, SchemaOfField<Schema>(), name, unknown_members_);
    field.value = std::move(value);
  }
  template <typename Words>
  void Fill(std::string_view name, Json& value, WordOf<Words>& field) {
    Note(name, ReadWord(value, Words::kWords, field.value));
  }
  void Fill(std::string_view name, Json& value, IgnoredField& field);
  void Fill(std::string_view name, Json& value, std::optional<RepetitionDetection>& field);

  static Status Read(const Json& value, bool& field);
  static Status Read(const Json& value, int& field);
  static Status Read(const Json& value, std::int64_t& field);
  static Status Read(const Json& value, std::uint64_t& field);  // a seed: negative ones wrap
  static Status Read(const Json& value, double& field);
  static Status Read(const Json& value, std::string& field);
  static Status Read(const Json& value, std::vector<std::string>& field);
  static Status Read(const Json& value, std::vector<TokenId>& field);
  static Status Read(const Json& value, std::vector<std::pair<TokenId, float>>& field);
  static Status Read(const Json& value, std::optional<std::uint64_t>& field);
  static Status Read(const Json& value, StringList& field);
  static Status Read(const Json& value, const AcceptedField& field);
  static Status Read(const Json& value, const RefusedField& field);
  template <typename T>
  static Status Read(Json& value, std::optional<T>& field) {
    if (value.is_null()) {
      field.reset();
      return {};
    }
    return Read(value, field.emplace());
  }

  JsonObject& members_;
  std::vector<bool> is_known_;
  std::vector<UnknownMember> unknown_members_;
  FieldNotes notes_;
  Status status_;
};

// Fills `request` in from `body`, which is used up; gives what is to be said of its fields.
// kInvalidArgument names the field: "temperature: must be a number, got a string".
template <typename Request>
Result<FieldNotes> ReadFields(Json& body, Request& request) {
  if (!body.is_object()) {
    return InvalidArgument("the body must be a JSON object, got " + std::string(body.kind()));
  }
  constexpr std::size_t kMaxMembers = 1024;
  if (body.object().size() > kMaxMembers) {
    return InvalidArgument("the body has more than 1024 members");
  }
  FieldReader reader(body);
  VisitFields(request, reader);
  QUIRE_RETURN_IF_ERROR(reader.status());
  return std::move(reader).TakeNotes();
}

}  // namespace quire
