#include "server/responses_input.h"

#include <string_view>
#include <utility>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/chat_messages.h"

namespace quire {
namespace {

std::string TextMember(const Json& object, std::string_view name) {
  const Json* value = object.Find(name);
  return value != nullptr && value->is_string() ? value->string() : "";
}

// Collects messages; reasoning and calls go into one assistant message with what follows them.
class MessageList {
 public:
  // `origin` is the item's place in the request.
  Status Add(Json& item, const std::string& origin) {
    Status status = AddItem(item);
    list_.origins.resize(list_.messages.size(), origin);
    return status;
  }

  InputMessages Take() && { return std::move(list_); }

 private:
  Status AddItem(Json& item) {
    if (!item.is_object()) return InvalidArgument(StrCat("must be an object, got ", item.kind()));
    const std::string type = TextMember(item, "type");
    if (type.empty() || type == "message") return AddMessage(item);
    if (type == "function_call") return AddCall(item);
    if (type == "function_call_output") return AddOutput(item);
    if (type == "reasoning") return AddReasoning(item);
    return InvalidArgument(StrCat("type: items of type ", Printable(type), " are not served"));
  }

  Json& Assistant() {
    const bool goes_on = !list_.messages.empty() && is_open_;
    if (!goes_on) {
      list_.messages.push_back(Json(JsonObject{{"role", Json("assistant")}}));
      is_open_ = true;
    }
    return list_.messages.back();
  }

  Status AddMessage(Json& item) {
    const std::string role = TextMember(item, "role");
    if (role.empty()) return InvalidArgument("role: must be a string");
    if (item.Find("content") == nullptr) return InvalidArgument("content: is required");
    if (role == "assistant") {
      Json& message = Assistant();
      message["content"] = std::move(item["content"]);
    } else {
      list_.messages.push_back(
          Json(JsonObject{{"role", Json(role)}, {"content", std::move(item["content"])}}));
      is_open_ = false;
    }
    return {};
  }

  Status AddCall(Json& item) {
    const std::string name = TextMember(item, "name");
    const std::string call_id = TextMember(item, "call_id");
    if (name.empty()) return InvalidArgument("name: must be a string");
    if (call_id.empty()) return InvalidArgument("call_id: must be a string");
    Json arguments = item["arguments"];
    QUIRE_RETURN_IF_ERROR(PrepareArguments(arguments));
    Json function{JsonObject{{"name", Json(name)}, {"arguments", std::move(item["arguments"])}}};
    Json call;
    call["id"] = Json(call_id);
    call["type"] = Json("function");
    call["function"] = std::move(function);
    Json& calls = Assistant()["tool_calls"];
    if (!calls.is_array()) calls = Json(JsonArray{});
    calls.array().push_back(std::move(call));
    return {};
  }

  Status AddOutput(Json& item) {
    const std::string call_id = TextMember(item, "call_id");
    if (call_id.empty()) return InvalidArgument("call_id: must be a string");
    if (item.Find("output") == nullptr) return InvalidArgument("output: is required");
    QUIRE_RETURN_IF_ERROR(CheckContent("output", item["output"]));
    Json message;
    message["role"] = Json("tool");
    message["tool_call_id"] = Json(call_id);
    message["content"] = std::move(item["output"]);
    list_.messages.push_back(std::move(message));
    is_open_ = false;
    return {};
  }

  Status AddReasoning(const Json& item) {
    std::string text;
    const Json* content = item.Find("content");
    if (content != nullptr && content->is_array()) {
      for (const Json& part : content->array()) text += TextMember(part, "text");
    }
    if (text.empty()) return {};
    Json& message = Assistant();
    message["reasoning"] = Json(text);
    message["reasoning_content"] = Json(std::move(text));
    return {};
  }

  InputMessages list_;
  bool is_open_ = false;  // the last one is the assistant's and may be added to
};

}  // namespace

Result<InputMessages> MessagesOfInput(Json& input) {
  if (input.is_string()) {
    InputMessages only;
    only.messages.push_back(
        Json(JsonObject{{"role", Json("user")}, {"content", Json(input.string())}}));
    only.origins.emplace_back("input");
    return only;
  }
  if (!input.is_array()) {
    return InvalidArgument(StrCat("input: must be a text or a list of items, got ", input.kind()));
  }
  if (input.array().empty()) return InvalidArgument("input: must hold at least one item");
  MessageList messages;
  for (std::size_t i = 0; i < input.array().size(); ++i) {
    const std::string origin = StrCat("input[", i, "]");
    const Status status = messages.Add(input.array()[i], origin);
    if (!status.ok()) return UnderPath(origin, status);
  }
  return std::move(messages).Take();
}

Result<Json> ChatToolsOf(const Json& tools) {
  if (tools.is_null()) return Json();
  if (!tools.is_array()) {
    return InvalidArgument(StrCat("tools: must be a list, got ", tools.kind()));
  }
  JsonArray converted;
  for (std::size_t i = 0; i < tools.array().size(); ++i) {
    const Json& tool = tools.array()[i];
    if (TextMember(tool, "type") != "function") {
      return InvalidArgument(
          StrCat("tools[", i, "].type: must be function, other tools are not served"));
    }
    Json function{JsonObject{}};
    for (const char* name : {"name", "description", "parameters", "strict"}) {
      if (const Json* value = tool.Find(name); value != nullptr) function[name] = *value;
    }
    converted.push_back(
        Json(JsonObject{{"type", Json("function")}, {"function", std::move(function)}}));
  }
  return Json(std::move(converted));
}

Result<Json> ResponseFormatOf(const Json& text) {
  const Json* format = text.Find("format");
  if (format == nullptr || format->is_null()) return Json();
  const std::string type = TextMember(*format, "type");
  if (type == "text") return Json();
  if (type == "json_object") return Json(JsonObject{{"type", Json(type)}});
  if (type != "json_schema") {
    return InvalidArgument("text.format.type: must be text, json_object or json_schema");
  }
  const Json* schema = format->Find("schema");
  if (schema == nullptr) return InvalidArgument("text.format.schema: is required");
  Json converted;
  converted["type"] = Json(type);
  converted["json_schema"]["schema"] = *schema;
  return converted;
}

Result<bool> WantsLogprobs(const Json& include) {
  if (include.is_null()) return false;
  if (!include.is_array()) {
    return InvalidArgument(StrCat("include: must be a list of strings, got ", include.kind()));
  }
  bool wants = false;
  for (const Json& item : include.array()) {
    if (!item.is_string()) {
      return InvalidArgument(StrCat("include: must be a list of strings, got ", item.kind()));
    }
    if (item.string() == "message.output_text.logprobs") {
      wants = true;
    } else if (item.string() != "reasoning.encrypted_content") {
      return InvalidArgument(StrCat("include: ", Printable(item.string()), " is not served"));
    }
  }
  return wants;
}

}  // namespace quire
