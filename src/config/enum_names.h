// Enumerations as options: one table of names per enumeration serves printing, parsing and the
// documents.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "base/strings.h"

namespace quire {

template <typename Enum>
struct EnumName {
  std::string_view name;
  Enum value;
};

// Specialised for each enumeration with
//   kNames      every value's name; a second name of a value is accepted and never printed
//   kRefused    vLLM's names that stand for what is not supported
template <typename Enum>
struct EnumNames;

template <typename Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires {
  EnumNames<Enum>::kNames;
  EnumNames<Enum>::kRefused;
};

template <NamedEnum Enum>
constexpr std::string_view ToString(Enum value) {
  for (const EnumName<Enum>& entry : EnumNames<Enum>::kNames) {
    if (entry.value == value) return entry.name;
  }
  return {};
}

// Every accepted name, in the table's order.
template <NamedEnum Enum>
std::vector<std::string> NamesOf() {
  std::vector<std::string> names;
  names.reserve(EnumNames<Enum>::kNames.size());
  for (const EnumName<Enum>& entry : EnumNames<Enum>::kNames) names.emplace_back(entry.name);
  return names;
}

// The value that `text` names; otherwise a message with the names that there are.
template <NamedEnum Enum>
Result<Enum> ParseEnum(std::string_view text) {
  for (const EnumName<Enum>& entry : EnumNames<Enum>::kNames) {
    if (entry.name == text) return entry.value;
  }
  const std::vector<std::string> names = NamesOf<Enum>();
  const std::string wanted = Join(names, ", ");
  for (const std::string_view refused : EnumNames<Enum>::kRefused) {
    if (refused == text) {
      return Unimplemented(StrCat("'", text, "' is not supported, only ", wanted));
    }
  }
  std::string message = StrCat("must be one of ", wanted, ", got '", Printable(text), "'");
  if (const auto near = NearestName(text, names)) message += StrCat("; did you mean ", *near, "?");
  return InvalidArgument(std::move(message));
}

}  // namespace quire
