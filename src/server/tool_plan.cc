#include "server/tool_plan.h"

#include <string_view>
#include <utility>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/constraint.h"

namespace quire {
namespace {

constexpr std::size_t kMaxTools = 1024;

const Json& FunctionOf(const Json& tool) { return *tool.Find("function"); }
const std::string& NameOf(const Json& tool) { return FunctionOf(tool).Find("name")->string(); }

Status CheckTool(const Json& tool) {
  const Json* type = tool.Find("type");
  if (type != nullptr && !(type->is_string() && type->string() == "function")) {
    return InvalidArgument("type: must be function, other tools are not served");
  }
  const Json* function = tool.Find("function");
  if (function == nullptr || !function->is_object()) {
    return InvalidArgument("function: must be an object");
  }
  const Json* name = function->Find("name");
  if (name == nullptr || !name->is_string() || name->string().empty()) {
    return InvalidArgument("function.name: must be a string that is not empty");
  }
  const Json* parameters = function->Find("parameters");
  if (parameters != nullptr && !parameters->is_null() && !parameters->is_object()) {
    return InvalidArgument(
        StrCat("function.parameters: must be a JSON schema, got ", parameters->kind()));
  }
  return {};
}

Status CheckTools(const Json& tools) {
  if (tools.is_null()) return {};
  if (!tools.is_array())
    return InvalidArgument(StrCat("tools: must be a list, got ", tools.kind()));
  if (tools.array().size() > kMaxTools) {
    return InvalidArgument(
        StrCat("tools: must be at most ", kMaxTools, ", got ", tools.array().size()));
  }
  for (std::size_t i = 0; i < tools.array().size(); ++i) {
    const Status status = CheckTool(tools.array()[i]);
    if (!status.ok()) return UnderPath(StrCat("tools[", i, "]"), status);
  }
  return {};
}

// A function's parameters, any object where it has no schema.
Json SchemaOf(const Json& tool) {
  const Json* parameters = FunctionOf(tool).Find("parameters");
  if (parameters != nullptr && parameters->is_object()) return *parameters;
  return Json(JsonObject{{"type", Json("object")}});
}

// Moves the definitions that a schema refers to up to where "#/$defs/…" then finds them.
Status HoistDefinitions(Json& schema, Json& definitions, std::string_view tool_name) {
  for (const char* holder : {"$defs", "definitions"}) {
    const Json* own = schema.Find(holder);
    if (own == nullptr || !own->is_object()) continue;
    for (const auto& [name, definition] : own->object()) {
      Json& all = definitions[holder];
      const Json* other = all.Find(name);
      if (other != nullptr && *other != definition) {
        return InvalidArgument(StrCat("tools: ", holder, ".", Printable(name), " of ",
                                      Printable(tool_name),
                                      " differs from that of another tool, which tool_choice "
                                      "required cannot hold together"));
      }
      all[name] = definition;
    }
    std::erase_if(schema.object(), [&](const auto& member) { return member.first == holder; });
  }
  return {};
}

Result<Json> RequiredSchema(const Json& tools, bool is_parallel) {
  Json schema;
  JsonArray calls;
  Json definitions{JsonObject{}};
  for (const Json& tool : tools.array()) {
    Json parameters = SchemaOf(tool);
    QUIRE_RETURN_IF_ERROR(HoistDefinitions(parameters, definitions, NameOf(tool)));
    Json properties;
    properties["name"] = Json(JsonObject{{"const", Json(NameOf(tool))}});
    properties["parameters"] = std::move(parameters);
    Json call;
    call["type"] = Json("object");
    call["properties"] = std::move(properties);
    call["required"] = Json(JsonArray{Json("name"), Json("parameters")});
    call["additionalProperties"] = Json(false);
    calls.push_back(std::move(call));
  }
  schema["type"] = Json("array");
  schema["minItems"] = Json(1);
  if (!is_parallel) schema["maxItems"] = Json(1);
  schema["items"] = Json(JsonObject{{"anyOf", Json(std::move(calls))}});
  for (auto& [holder, all] : definitions.object()) schema[holder] = std::move(all);
  return schema;
}

// The name in {"type": "function", "function": {"name"}}, or in {"type": "function", "name"} as
// /v1/responses has it.
Result<std::string> NamedFunction(const Json& choice) {
  const Json* function = choice.Find("function");
  const Json* name = function == nullptr ? choice.Find("name") : function->Find("name");
  if (name == nullptr || !name->is_string()) {
    return InvalidArgument("tool_choice.function.name: must be a string");
  }
  return name->string();
}

Status Constrain(SamplingParams& sampling, const Json& schema, FieldNames& names) {
  if (sampling.structured_outputs != nullptr) {
    return InvalidArgument(
        "tool_choice: constrains the answer, and another constraint is given too");
  }
  sampling.structured_outputs = SchemaConstraint(schema);
  NameConstraint("tools", names);
  return {};
}

Result<ToolPlan> PlanNamed(const ToolFields& fields, ToolPlan plan, SamplingParams& sampling,
                           FieldNames& names) {
  const Json& tools = fields.tools;
  QUIRE_ASSIGN_OR_RETURN(plan.function_name, NamedFunction(fields.tool_choice));
  plan.mode = ToolMode::kNamed;
  if (tools.is_array()) {
    for (const Json& tool : tools.array()) {
      if (NameOf(tool) != plan.function_name) continue;
      QUIRE_RETURN_IF_ERROR(Constrain(sampling, SchemaOf(tool), names));
      return plan;
    }
  }
  return InvalidArgument(
      StrCat("tool_choice: ", Printable(plan.function_name), " is none of the tools"));
}

Result<ToolPlan> PlanAuto(ApiCall& call, const ToolFields& fields, ToolPlan plan) {
  const ApiState& state = call.state;
  plan.mode = ToolMode::kAuto;
  plan.types = std::make_shared<const ParameterTypes>(fields.tools);
  if (state.tools == nullptr) {
    return InvalidArgument(
        StrCat(fields.tool_choice.is_null() ? "tools" : "tool_choice",
               ": to find calls in an answer the server needs --tool-call-parser NAME; without it "
               "tool_choice must be required, none or a function by name"));
  }
  WarnOfTools(call, fields.tools);
  if (state.templates.ShowsTools() && state.tools_are_guessed) {
    Warn(call, StrCat("tools: calls are looked for in the format ", state.tools->name,
                      ", as the chat template does not tell the model's own"));
  }
  return plan;
}

}  // namespace

Result<ToolPlan> PlanTools(ApiCall& call, const ToolFields& fields, SamplingParams& sampling,
                           FieldNames& names) {
  const Json& tools = fields.tools;
  const Json& tool_choice = fields.tool_choice;
  QUIRE_RETURN_IF_ERROR(CheckTools(tools));
  const bool has_tools = tools.is_array() && !tools.array().empty();
  ToolPlan plan;
  plan.is_parallel = fields.is_parallel;
  plan.shows_tools = has_tools;
  if (tool_choice.is_object()) return PlanNamed(fields, std::move(plan), sampling, names);
  if (!tool_choice.is_null() && !tool_choice.is_string()) {
    return InvalidArgument(
        StrCat("tool_choice: must be none, auto, required or an object, got ", tool_choice.kind()));
  }
  const std::string choice = tool_choice.is_string() ? tool_choice.string() : "auto";
  if (choice != "none" && choice != "auto" && choice != "required") {
    return InvalidArgument(
        StrCat("tool_choice: must be none, auto, required or an object, got ", Printable(choice)));
  }
  if (choice == "none") {
    plan.shows_tools = has_tools && !call.state.options.exclude_tools_when_tool_choice_none;
    return plan;
  }
  if (!has_tools) return plan;
  if (choice == "auto") return PlanAuto(call, fields, std::move(plan));
  plan.mode = ToolMode::kRequired;
  QUIRE_ASSIGN_OR_RETURN(const Json schema, RequiredSchema(tools, fields.is_parallel));
  QUIRE_RETURN_IF_ERROR(Constrain(sampling, schema, names));
  return plan;
}

void WarnOfTools(ApiCall& call, const Json& tools) {
  const bool has_tools = tools.is_array() && !tools.array().empty();
  if (!has_tools || call.state.templates.ShowsTools()) return;
  Warn(call, "tools: the chat template does not show them to the model");
}

}  // namespace quire
