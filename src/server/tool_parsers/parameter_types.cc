#include "server/tool_parsers/parameter_types.h"

#include "base/strings.h"

namespace quire {
namespace {

// What a schema allows besides strings.
struct Allowed {
  bool has_string = false;
  bool has_null = false;
  bool has_other = false;
};

void AddType(const Json& name, Allowed& allowed) {
  const bool is_name = name.is_string();
  if (is_name && name.string() == "string") {
    allowed.has_string = true;
  } else if (is_name && name.string() == "null") {
    allowed.has_null = true;
  } else {
    allowed.has_other = true;
  }
}

void AddValue(const Json& value, Allowed& allowed) {
  allowed.has_string |= value.is_string();
  allowed.has_null |= value.is_null();
  allowed.has_other |= !value.is_string() && !value.is_null();
}

// One level of choices is looked into, as optional parameters have them.
void AddSchema(const Json& schema, int depth, Allowed& allowed) {
  if (const Json* type = schema.Find("type"); type != nullptr && !type->is_array()) {
    AddType(*type, allowed);
  } else if (type != nullptr) {
    for (const Json& each : type->array()) AddType(each, allowed);
  } else if (const Json* values = schema.Find("enum"); values != nullptr && values->is_array()) {
    for (const Json& value : values->array()) AddValue(value, allowed);
  } else if (const Json* value = schema.Find("const"); value != nullptr) {
    AddValue(*value, allowed);
  } else {
    const Json* choices = schema.Find("anyOf");
    if (choices == nullptr) choices = schema.Find("oneOf");
    if (choices == nullptr || !choices->is_array() || depth > 0) {
      allowed.has_other = true;
      return;
    }
    for (const Json& choice : choices->array()) AddSchema(choice, depth + 1, allowed);
  }
}

ParameterType TypeOf(const Json& schema) {
  Allowed allowed;
  AddSchema(schema, 0, allowed);
  if (allowed.has_other || !allowed.has_string) return ParameterType::kOther;
  return allowed.has_null ? ParameterType::kMaybe : ParameterType::kString;
}

std::string KeyOf(std::string_view function, std::string_view parameter) {
  return StrCat(function, "\n", parameter);
}

}  // namespace

ParameterTypes::ParameterTypes(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools.array()) {
    const Json& function = *tool.Find("function");
    const Json* parameters = function.Find("parameters");
    const Json* properties = parameters == nullptr ? nullptr : parameters->Find("properties");
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [name, schema] : properties->object()) {
      types_[KeyOf(function.Find("name")->string(), name)] = TypeOf(schema);
    }
  }
}

ParameterType ParameterTypes::Find(std::string_view function, std::string_view parameter) const {
  const auto found = types_.find(KeyOf(function, parameter));
  return found == types_.end() ? ParameterType::kOther : found->second;
}

}  // namespace quire
