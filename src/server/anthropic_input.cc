#include "server/anthropic_input.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/chat_messages.h"
#include "server/field_reader.h"

namespace quire {
namespace {

std::string TextMember(const Json& object, std::string_view name) {
  const Json* value = object.Find(name);
  return value != nullptr && value->is_string() ? value->string() : "";
}

Json TextPart(std::string_view text) {
  return Json(JsonObject{{"type", Json("text")}, {"text", Json(text)}});
}

Json ChatMessage(std::string_view role, Json content) {
  return Json(JsonObject{{"role", Json(role)}, {"content", std::move(content)}});
}

// One message in the making: results of tools become messages of their own before it.
class MessageReader {
 public:
  MessageReader(std::string role, JsonArray& out) : role_(std::move(role)), out_(out) {}

  // `name` is the content's in the request.
  Status Read(Json& content, std::string_view name) {
    if (content.is_string()) {
      out_.push_back(ChatMessage(role_, std::move(content)));
      return {};
    }
    if (!content.is_array()) {
      return InvalidArgument(
          StrCat(name, ": must be a string or a list of blocks, got ", content.kind()));
    }
    for (std::size_t i = 0; i < content.array().size(); ++i) {
      const Status status = AddBlock(content.array()[i]);
      if (!status.ok()) return UnderPath(StrCat(name, "[", i, "]"), status);
    }
    Finish();
    return {};
  }

 private:
  Status AddBlock(Json& block) {
    if (!block.is_object()) return InvalidArgument("must be an object");
    const std::string type = TextMember(block, "type");
    if (type == "text") {
      const Json* text = block.Find("text");
      if (text == nullptr || !text->is_string()) return InvalidArgument("text: must be a string");
      parts_.push_back(TextPart(text->string()));
      return {};
    }
    if (type == "tool_use") return AddCall(block);
    if (type == "tool_result") return AddResult(block);
    if (type == "thinking") {
      reasoning_ += TextMember(block, "thinking");
      return {};
    }
    if (type == "redacted_thinking") return {};
    return InvalidArgument(StrCat("type: blocks of type ", Printable(type),
                                  " are not served, the model takes text only"));
  }

  Status AddCall(Json& block) {
    const std::string id = TextMember(block, "id");
    const std::string name = TextMember(block, "name");
    if (id.empty()) return InvalidArgument("id: must be a string");
    if (name.empty()) return InvalidArgument("name: must be a string");
    Json input = std::move(block["input"]);
    if (input.is_null()) input = Json(JsonObject{});
    if (!input.is_object()) return InvalidArgument("input: must be an object");
    Json call;
    call["id"] = Json(id);
    call["type"] = Json("function");
    call["function"]["name"] = Json(name);
    call["function"]["arguments"] = std::move(input);
    calls_.push_back(std::move(call));
    return {};
  }

  Status AddResult(Json& block) {
    const std::string id = TextMember(block, "tool_use_id");
    if (id.empty()) return InvalidArgument("tool_use_id: must be a string");
    QUIRE_RETURN_IF_ERROR(CheckContent("content", block["content"]));
    Json message;
    message["role"] = Json("tool");
    message["tool_call_id"] = Json(id);
    message["content"] = std::move(block["content"]);
    out_.push_back(std::move(message));
    has_results_ = true;
    return {};
  }

  void Finish() {
    if (parts_.empty() && calls_.empty() && reasoning_.empty() && has_results_) return;
    Json message = ChatMessage(role_, Json(std::move(parts_)));
    if (!calls_.empty()) message["tool_calls"] = Json(std::move(calls_));
    if (!reasoning_.empty()) {
      message["reasoning"] = Json(reasoning_);
      message["reasoning_content"] = Json(std::move(reasoning_));
    }
    out_.push_back(std::move(message));
  }

  const std::string role_;
  JsonArray& out_;
  JsonArray parts_;
  JsonArray calls_;
  std::string reasoning_;
  bool has_results_ = false;
};

Status ReadMessage(Json& message, JsonArray& out) {
  const std::string role = TextMember(message, "role");
  if (role != "user" && role != "assistant" && role != "system") {
    return InvalidArgument(StrCat("role: must be user or assistant, got ", Printable(role)));
  }
  if (message.Find("content") == nullptr) return InvalidArgument("content: is required");
  return MessageReader(role, out).Read(message["content"], "content");
}

Result<JsonArray> ReadMessages(CountTokensRequest& request, std::vector<std::string>& origins) {
  JsonArray out;
  if (request.system.is_given()) {
    QUIRE_RETURN_IF_ERROR(MessageReader("system", out).Read(request.system.value, "system"));
    origins.resize(out.size(), "system");
  }
  Json& messages = request.messages.value;
  if (!messages.is_array() || messages.array().empty()) {
    return InvalidArgument("messages: must be a list of at least one message");
  }
  for (std::size_t i = 0; i < messages.array().size(); ++i) {
    const std::string origin = StrCat("messages[", i, "]");
    const Status status = ReadMessage(messages.array()[i], out);
    if (!status.ok()) return UnderPath(origin, status);
    origins.resize(out.size(), origin);
  }
  return out;
}

Result<Json> ReadTools(const Json& tools) {
  if (tools.is_null()) return Json();
  if (!tools.is_array())
    return InvalidArgument(StrCat("tools: must be a list, got ", tools.kind()));
  JsonArray converted;
  for (std::size_t i = 0; i < tools.array().size(); ++i) {
    const Json& tool = tools.array()[i];
    const std::string type = TextMember(tool, "type");
    if (!type.empty() && type != "custom") {
      return InvalidArgument(StrCat("tools[", i, "].type: ", Printable(type), " is not served"));
    }
    Json function;
    function["name"] = Json(TextMember(tool, "name"));
    if (const Json* help = tool.Find("description")) function["description"] = *help;
    const Json* schema = tool.Find("input_schema");
    if (schema == nullptr || !schema->is_object()) {
      return InvalidArgument(StrCat("tools[", i, "].input_schema: must be an object"));
    }
    function["parameters"] = *schema;
    converted.push_back(
        Json(JsonObject{{"type", Json("function")}, {"function", std::move(function)}}));
  }
  return Json(std::move(converted));
}

Status ReadToolChoice(const Json& choice, AnthropicChat& chat) {
  if (choice.is_null()) return {};
  const std::string type = TextMember(choice, "type");
  if (type == "auto" || type == "none") {
    chat.tool_choice = Json(type);
  } else if (type == "any") {
    chat.tool_choice = Json("required");
  } else if (type == "tool") {
    chat.tool_choice["type"] = Json("function");
    chat.tool_choice["function"]["name"] = Json(TextMember(choice, "name"));
  } else {
    return InvalidArgument("tool_choice.type: must be auto, any, tool or none");
  }
  const Json* serial = choice.Find("disable_parallel_tool_use");
  chat.is_parallel = serial == nullptr || !serial->is_bool() || !serial->boolean();
  return {};
}

Status ReadThinking(const Json& thinking, ChatPrompt& prompt) {
  if (thinking.is_null()) return {};
  const std::string type = TextMember(thinking, "type");
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    return InvalidArgument("thinking.type: must be enabled, disabled or adaptive");
  }
  if (prompt.kwargs.is_null()) prompt.kwargs = Json(JsonObject{});
  if (prompt.kwargs.is_object() && prompt.kwargs.Find("enable_thinking") == nullptr &&
      type != "adaptive") {
    prompt.kwargs["enable_thinking"] = Json(type == "enabled");
  }
  return {};
}

Status ReadOutputConfig(const Json& config, AnthropicChat& chat) {
  if (config.is_null()) return {};
  if (const Json* effort = config.Find("effort"); effort != nullptr) {
    const Status status =
        FieldReader::ReadWord(*effort, EffortWords::kWords, chat.prompt.reasoning_effort);
    if (!status.ok()) return status.With("output_config.effort");
  }
  const Json* format = config.Find("format");
  if (format == nullptr || format->is_null()) return {};
  const Json* schema = format->Find("schema");
  if (TextMember(*format, "type") != "json_schema" || schema == nullptr) {
    return InvalidArgument("output_config.format: must have type json_schema and a schema");
  }
  chat.response_format["type"] = Json("json_schema");
  chat.response_format["json_schema"]["schema"] = *schema;
  return {};
}

}  // namespace

Result<AnthropicChat> ReadAnthropicChat(CountTokensRequest& request) {
  AnthropicChat chat;
  QUIRE_ASSIGN_OR_RETURN(JsonArray messages, ReadMessages(request, chat.origins));
  // A chat that ends with the assistant's words goes on with them.
  const bool continues = messages.back().Find("role")->string() == "assistant";
  chat.prompt.add_generation_prompt = !continues;
  chat.prompt.continue_final_message = continues;
  chat.prompt.messages = Json(std::move(messages));
  chat.prompt.kwargs = std::move(request.chat_template_kwargs.value);
  QUIRE_ASSIGN_OR_RETURN(chat.prompt.tools, ReadTools(request.tools.value));
  QUIRE_RETURN_IF_ERROR(ReadToolChoice(request.tool_choice.value, chat));
  QUIRE_RETURN_IF_ERROR(ReadThinking(request.thinking.value, chat.prompt));
  QUIRE_RETURN_IF_ERROR(ReadOutputConfig(request.output_config.value, chat));
  return chat;
}

}  // namespace quire
