// Which parameters of a request's functions are strings.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/json.h"

namespace quire {

enum class ParameterType {
  kString,  // by its schema
  kMaybe,   // a string or null
  kOther,   // anything else, or nothing is known of it
};

// Immutable once made; any thread.
class ParameterTypes {
 public:
  ParameterTypes() = default;
  // From tools as chats have them, which are checked. Null: none.
  explicit ParameterTypes(const Json& tools);

  ParameterType Find(std::string_view function, std::string_view parameter) const;

 private:
  std::unordered_map<std::string, ParameterType> types_;  // by "function\nparameter"
};

}  // namespace quire
