#include "server/field_names.h"

#include "base/strings.h"

namespace quire {
namespace {

// Whether `field` is `name`, or stands inside it.
bool IsOf(std::string_view field, std::string_view name) {
  if (!field.starts_with(name)) return false;
  return field.size() == name.size() || field[name.size()] == '.' || field[name.size()] == '[';
}

}  // namespace

std::string FieldNames::Outer(std::string_view field) const {
  for (const auto& [inner, outer] : fields_) {
    if (IsOf(field, inner)) return StrCat(outer, field.substr(inner.size()));
  }
  std::string name(field);
  if (!IsOf(field, "tools")) return name;
  for (const auto& [inner, outer] : of_tools_) {
    if (const std::size_t at = name.find(inner); at != std::string::npos) {
      return name.replace(at, inner.size(), outer);
    }
  }
  return name;
}

Status FieldNames::Translate(const Status& error) const {
  if (error.ok()) return error;
  const std::string_view message = error.message();
  const std::size_t colon = message.find(": ");
  if (colon == std::string_view::npos) return error;
  const std::string_view field = message.substr(0, colon);  // or words that no rule knows
  return Status(error.code(), StrCat(Outer(field), message.substr(field.size())));
}

}  // namespace quire
