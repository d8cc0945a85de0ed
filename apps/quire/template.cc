// quire template: render chat templates, and any Jinja.
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "apps/quire/command.h"
#include "apps/quire/flags.h"
#include "apps/quire/io.h"
#include "apps/quire/json_lines.h"
#include "apps/quire/terminal.h"
#include "apps/quire/tokenizer_source.h"
#include "base/strings.h"

namespace quire {

namespace {

struct TemplateOptions {
  std::string model;
  std::string chat_template;
  std::optional<std::string> user;
  std::optional<std::string> system;
  std::optional<std::string> messages;  // a file
  std::optional<std::string> tools;     // a file
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  Json kwargs;
  std::optional<std::string> now;
  bool jsonl = false;
  bool source = false;
  std::optional<std::string> render;  // a file
  std::string context = "{}";
};

FlagSet MakeFlags(TemplateOptions& o) {
  FlagSet flags("template [MODEL] (-p TEXT | --messages FILE | -) [flags]",
                "Prints the text that a model's chat template makes of a conversation.");
  flags.Group("Conversation");
  flags.Add("model", o.model, "The model, in place of MODEL");
  flags.Add("prompt,p", o.user, "One user message");
  flags.Add("system", o.system, "A system message before it");
  flags.Add("messages", o.messages, "File with a JSON array of messages; - is standard input",
            "FILE");
  flags.Add("tools", o.tools, "File with a JSON array of tools", "FILE");
  flags.Group("Rendering");
  flags.Add("chat-template", o.chat_template,
            "File of the template, the template itself, or the name of one of the model's", "FILE");
  flags.Add("add-generation-prompt", o.add_generation_prompt, "End where the answer begins");
  flags.Add("continue-final-message", o.continue_final_message, "End inside the last message");
  flags.Add("chat-template-kwargs", o.kwargs, "JSON object of further variables");
  flags.Add("now", o.now, "Local time for strftime_now, such as 2026-07-14T09:05:03; unset: now",
            "TIME");
  flags.Add("source", o.source, "Print the template itself");
  flags.Group("Batches and plain Jinja");
  flags.Add("jsonl", o.jsonl,
            "One JSON object a line on standard input: {\"messages\", \"template\"?, \"tools\"?, "
            "\"documents\"?, \"add_generation_prompt\"?, \"continue_final_message\"?, \"now\"?, "
            "any other variable}; one a line on standard output: {\"text\"} or {\"error\", "
            "\"line\", \"column\"}. Without MODEL, lines that bring no template take the default "
            "model's");
  flags.Add("render", o.render, "Render this file with the variables of --context, no chat",
            "FILE");
  flags.Add("context", o.context, "JSON object of variables, for --render", "JSON");
  return flags;
}

Json ErrorJson(const TemplateError& error) {
  return Json(JsonObject{{"error", ToValidUtf8(error.status.message())},
                         {"line", error.line},
                         {"column", error.column}});
}

Result<LocalTime> TimeOr(const std::optional<std::string>& text) {
  if (!text) return CurrentLocalTime();
  Result<LocalTime> time = ParseLocalTime(*text);
  if (!time.ok()) return time.status().With("now");
  return time;
}

// The variables that the tokenizer brings (bos_token, …), which a line or flag may replace.
void AddTokenVariables(const Tokenizer& tokenizer, ChatInputs& inputs) {
  for (const auto& [name, text] : tokenizer.template_tokens()) {
    inputs.variables.emplace_back(name, Json(text));
  }
}

// Reads one line of --jsonl into `inputs`, which holds the tokenizer's variables already.
Status ReadChatLine(const Json& line, ChatInputs& inputs) {
  std::optional<std::string> now;
  for (const auto& [name, value] : line.object()) {
    if (name == "template") continue;
    if (name == "messages") {
      inputs.messages = value;
    } else if (name == "tools") {
      inputs.tools = value;
    } else if (name == "documents") {
      inputs.documents = value;
    } else if (name == "now") {
      QUIRE_ASSIGN_OR_RETURN(const std::string text, StringOr(line, "now", ""));
      if (!text.empty()) now = text;
    } else if (name == "add_generation_prompt" || name == "continue_final_message") {
      bool& field = name == "add_generation_prompt" ? inputs.add_generation_prompt
                                                    : inputs.continue_final_message;
      QUIRE_ASSIGN_OR_RETURN(field, BoolOr(line, name, false));
    } else {
      inputs.variables.emplace_back(name, value);
    }
  }
  if (!inputs.messages.is_array()) {
    return InvalidArgument(StrCat("messages: must be an array, got ", inputs.messages.kind()));
  }
  QUIRE_ASSIGN_OR_RETURN(inputs.now, TimeOr(now));
  return {};
}

// Answers lines; the model is loaded when the first line needs it.
class LineRenderer {
 public:
  explicit LineRenderer(const TemplateOptions& options) : options_(options) {}

  Result<Json> Render(const Json& line) {
    const Json* source = line.Find("template");
    const bool brings_template = source != nullptr && !source->is_null();
    if (!brings_template || !options_.model.empty()) QUIRE_RETURN_IF_ERROR(LoadModelTokenizer());
    TemplateError error;
    const ChatTemplate* chat_template = nullptr;
    if (brings_template) {
      QUIRE_ASSIGN_OR_RETURN(const std::string text, RequireString(line, "template"));
      chat_template = ParseCached(text, &error);
    } else {
      QUIRE_RETURN_IF_ERROR(ParseModelTemplate());
      chat_template = &*model_template_;
    }
    if (chat_template == nullptr) return ErrorJson(error);
    ChatInputs inputs;
    if (tokenizer_ != nullptr) AddTokenVariables(*tokenizer_, inputs);
    QUIRE_RETURN_IF_ERROR(ReadChatLine(line, inputs));
    const Result<std::string> text = chat_template->Render(inputs, &error);
    if (!text.ok()) return ErrorJson(error);
    return Json(JsonObject{{"text", *text}});
  }

 private:
  Status LoadModelTokenizer() {
    if (tokenizer_ != nullptr) return {};
    QUIRE_ASSIGN_OR_RETURN(tokenizer_, TokenizerOf(options_.model));
    return {};
  }

  Status ParseModelTemplate() {
    if (model_template_) return {};
    QUIRE_ASSIGN_OR_RETURN(ChatTemplate parsed,
                           ChooseChatTemplate(options_.chat_template, *tokenizer_));
    model_template_.emplace(std::move(parsed));
    return {};
  }

  // Lines tend to bring the same template as the one before.
  const ChatTemplate* ParseCached(const std::string& source, TemplateError* error) {
    if (line_template_ && line_template_->source() == source) return &*line_template_;
    Result<ChatTemplate> parsed = ChatTemplate::Parse(source, error);
    if (!parsed.ok()) return nullptr;
    line_template_.emplace(*std::move(parsed));
    return &*line_template_;
  }

  const TemplateOptions& options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<ChatTemplate> model_template_;
  std::optional<ChatTemplate> line_template_;
};

Result<Json> ReadJsonFile(const std::string& path) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return json.status().With(path);
  return json;
}

Status PrintText(const std::string& text) {
  return PrintToStdout(IsTerminal(STDOUT_FILENO) ? ForTerminal(text) + "\n" : text);
}

Status RenderFile(const TemplateOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const std::string source, ReadInput(*options.render));
  const Result<Json> context = ParseJson(options.context, {.python_literals = true});
  if (!context.ok()) return context.status().With("--context");
  if (!context->is_object()) {
    return InvalidArgument(StrCat("--context: must be a JSON object, got ", context->kind()));
  }
  QUIRE_ASSIGN_OR_RETURN(const LocalTime now, TimeOr(options.now));
  const Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return parsed.status().With(*options.render);
  const Result<std::string> text = parsed->RenderContext(*context, now);
  if (!text.ok()) return text.status().With(*options.render);
  return PrintText(*text);
}

Result<Json> MessagesOf(const TemplateOptions& options) {
  if (options.messages) {
    QUIRE_ASSIGN_OR_RETURN(Json messages, ReadJsonFile(*options.messages));
    if (const Json* inner = messages.Find("messages")) messages = Json(*inner);
    if (messages.is_array()) return messages;
    return InvalidArgument(
        StrCat(*options.messages, ": must be an array of messages, got ", messages.kind()));
  }
  JsonArray messages;
  if (options.system) {
    messages.emplace_back(JsonObject{{"role", "system"}, {"content", *options.system}});
  }
  if (options.user) {
    messages.emplace_back(JsonObject{{"role", "user"}, {"content", *options.user}});
  }
  if (messages.empty()) {
    return InvalidArgument(
        "no conversation: give -p TEXT, --messages FILE, or - for messages on standard input");
  }
  return Json(std::move(messages));
}

Status RenderConversation(const TemplateOptions& options) {
  ChatInputs inputs;
  if (!options.source) {
    QUIRE_ASSIGN_OR_RETURN(inputs.messages, MessagesOf(options));
  }
  if (options.tools) {
    QUIRE_ASSIGN_OR_RETURN(inputs.tools, ReadJsonFile(*options.tools));
  }
  QUIRE_ASSIGN_OR_RETURN(inputs.now, TimeOr(options.now));
  QUIRE_ASSIGN_OR_RETURN(const auto tokenizer, TokenizerOf(options.model));
  QUIRE_ASSIGN_OR_RETURN(const ChatTemplate chat_template,
                         ChooseChatTemplate(options.chat_template, *tokenizer));
  if (options.source) return PrintText(chat_template.source());
  inputs.continue_final_message = options.continue_final_message;
  inputs.add_generation_prompt = options.add_generation_prompt && !options.continue_final_message;
  AddTokenVariables(*tokenizer, inputs);
  if (options.kwargs.is_object()) {
    for (const auto& variable : options.kwargs.object()) inputs.variables.push_back(variable);
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string text, chat_template.Render(inputs));
  return PrintText(text);
}

Status TakePositionals(const FlagSet& flags, TemplateOptions& options) {
  for (const std::string& text : flags.positionals()) {
    if (text == "-" && !options.messages) {
      options.messages = "-";
    } else if (text != "-" && options.model.empty()) {
      options.model = text;
    } else {
      return InvalidArgument(StrCat("one argument too many: ", Printable(text)));
    }
  }
  return {};
}

}  // namespace

Status RunTemplate(Args args) {
  TemplateOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakePositionals(flags, options));
  if (options.render) return RenderFile(options);
  if (!options.jsonl) return RenderConversation(options);
  LineRenderer renderer(options);
  return AnswerJsonLines([&](const Json& line) { return renderer.Render(line); });
}

}  // namespace quire
