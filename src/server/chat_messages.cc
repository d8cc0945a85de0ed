#include "server/chat_messages.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/strings.h"
#include "server/api_error.h"

namespace quire {
namespace {

constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                    "assistant", "tool",      "function"};

bool Mentions(std::string_view source, std::string_view role) {
  return source.find(StrCat("'", role, "'")) != std::string_view::npos ||
         source.find(StrCat("\"", role, "\"")) != std::string_view::npos;
}

Status PrepareRole(Json& message, std::string_view source) {
  const Json* role = message.Find("role");
  if (role == nullptr) return InvalidArgument("role: is required");
  if (!role->is_string()) {
    return InvalidArgument(StrCat("role: must be a string, got ", role->kind()));
  }
  const std::string& name = role->string();
  if (name == "developer" && !Mentions(source, name)) {
    message["role"] = Json("system");
    return {};
  }
  const bool is_known = std::ranges::find(kRoles, name) != kRoles.end();
  // Some templates have roles of their own.
  if (is_known || (!name.empty() && name.size() < 64 && Mentions(source, name))) return {};
  return InvalidArgument(StrCat("role: must be ", Join(kRoles, ", "), ", got ", Printable(name)));
}

// The member of a part that holds its text; empty where the part is the text.
Result<std::string_view> TextFieldOf(const Json& part) {
  if (part.is_string()) return std::string_view();
  const Json* type = part.Find("type");
  if (type == nullptr || !type->is_string()) {
    return InvalidArgument("must be a string or an object with a type");
  }
  std::string_view field;
  for (const std::string_view name : {"text", "input_text", "output_text"}) {
    if (type->string() == name) field = "text";
  }
  if (type->string() == "refusal") field = "refusal";
  if (field.empty()) {
    return InvalidArgument(StrCat("parts of type ", Printable(type->string()),
                                  " are not served, the model takes text only"));
  }
  const Json* text = part.Find(field);
  if (text == nullptr || !text->is_string()) {
    return InvalidArgument(StrCat(field, ": must be a string"));
  }
  return field;
}

// The text of a part, moved out of it.
Result<std::string> TextOfPart(Json& part) {
  QUIRE_ASSIGN_OR_RETURN(const std::string_view field, TextFieldOf(part));
  return field.empty() ? part.string() : std::move(part[field]).string();
}

Json TextPart(std::string text) {
  Json part;
  part["type"] = Json("text");
  part["text"] = Json(std::move(text));
  return part;
}

Status PrepareContent(Json& message, bool as_parts) {
  Json* content = &message["content"];
  JsonArray parts;
  std::string joined;
  if (content->is_string()) {
    if (!as_parts) return {};
    parts.push_back(TextPart(content->string()));
  } else if (content->is_array()) {
    for (std::size_t i = 0; i < content->array().size(); ++i) {
      Result<std::string> text = TextOfPart(content->array()[i]);
      if (!text.ok()) return UnderPath(StrCat("content[", i, "]"), text.status());
      if (as_parts) {
        parts.push_back(TextPart(*std::move(text)));
      } else {
        if (i > 0) joined += '\n';
        joined += *text;
      }
    }
  } else if (!content->is_null()) {
    return InvalidArgument(
        StrCat("content: must be a string or a list of parts, got ", content->kind()));
  }
  *content = as_parts ? Json(std::move(parts)) : Json(std::move(joined));
  return {};
}

Status PrepareFunction(Json& function) {
  const Json* name = function.Find("name");
  if (name == nullptr || !name->is_string()) return InvalidArgument("name: must be a string");
  return PrepareArguments(function["arguments"]);
}
Status PrepareCalls(Json& message) {
  const Json* calls = message.Find("tool_calls");
  if (calls == nullptr) return {};
  if (!calls->is_null() && !calls->is_array()) {
    return InvalidArgument(StrCat("tool_calls: must be a list, got ", calls->kind()));
  }
  if (calls->is_null() || calls->array().empty()) {
    // Many templates ask only whether the member is there.
    std::erase_if(message.object(),
                  [](const auto& member) { return member.first == "tool_calls"; });
    return {};
  }
  JsonArray& list = message["tool_calls"].array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json* function = list[i].Find("function");
    const std::string path = StrCat("tool_calls[", i, "].function");
    if (function == nullptr || !function->is_object()) {
      return InvalidArgument(StrCat(path, ": must be an object"));
    }
    const Status status = PrepareFunction(list[i]["function"]);
    if (!status.ok()) return UnderPath(path, status);
  }
  return {};
}

Status PrepareMessage(Json& message, bool as_parts, std::string_view source) {
  if (!message.is_object()) {
    return InvalidArgument(StrCat("must be an object, got ", message.kind()));
  }
  QUIRE_RETURN_IF_ERROR(PrepareRole(message, source));
  const Json* content = message.Find("content");
  const bool is_empty = content == nullptr || content->is_null();
  if (is_empty && message.Find("role")->string() == "user") {
    return InvalidArgument("content: is required");
  }
  QUIRE_RETURN_IF_ERROR(PrepareContent(message, as_parts));
  return PrepareCalls(message);
}

}  // namespace

// Templates write arguments as JSON themselves.
Status PrepareArguments(Json& arguments) {
  if (arguments.is_object()) return {};
  if (arguments.is_null() || (arguments.is_string() && arguments.string().empty())) {
    arguments = Json(JsonObject{});
    return {};
  }
  if (!arguments.is_string()) {
    return InvalidArgument(
        StrCat("arguments: must be the text of a JSON object, got ", arguments.kind()));
  }
  Result<Json> parsed = ParseJson(arguments.string());
  if (!parsed.ok()) return parsed.status().With("arguments");
  if (parsed->is_null()) {
    *parsed = Json(JsonObject{});
  } else if (!parsed->is_object()) {
    return InvalidArgument(
        StrCat("arguments: must be the text of a JSON object, got ", parsed->kind()));
  }
  arguments = *std::move(parsed);
  return {};
}

Status CheckContent(std::string_view name, const Json& content) {
  if (content.is_string() || content.is_null()) return {};
  if (!content.is_array()) {
    return InvalidArgument(
        StrCat(name, ": must be a string or a list of parts, got ", content.kind()));
  }
  for (std::size_t i = 0; i < content.array().size(); ++i) {
    const Status status = TextFieldOf(content.array()[i]).status();
    if (!status.ok()) return UnderPath(StrCat(name, "[", i, "]"), status);
  }
  return {};
}

Status PrepareMessages(Json& messages, bool as_parts, std::string_view template_source) {
  if (!messages.is_array()) {
    return InvalidArgument(StrCat("messages: must be a list, got ", messages.kind()));
  }
  if (messages.array().empty()) {
    return InvalidArgument("messages: must hold at least one message");
  }
  for (std::size_t i = 0; i < messages.array().size(); ++i) {
    const Status status = PrepareMessage(messages.array()[i], as_parts, template_source);
    if (!status.ok()) return UnderPath(StrCat("messages[", i, "]"), status);
  }
  return {};
}

}  // namespace quire
