#include "tokenizer/chat_template.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;
constexpr std::string_view kMarker = "CONTINUE_FINAL_MESSAGE_TAG ";

std::string_view Trim(std::string_view text) {
  return jinja::Strip(text, std::nullopt, true, true);
}

// The message of a failure, with its place unless the template itself refused.
Status Placed(const Status& status, const TemplateError& error) {
  if (error.is_raised || error.line == 0) return status;
  return status.With(StrCat("line ", error.line, ", column ", error.column));
}

// Puts the marker behind the last message's content; the content as it was.
Result<std::string> MarkFinalMessage(Json& messages) {
  if (!messages.is_array() || messages.array().empty() || !messages.array().back().is_object()) {
    return InvalidArgument("continue_final_message: there is no message to continue");
  }
  Json& content = messages.array().back()["content"];
  if (content.is_string()) {
    std::string before = content.string();
    content = Json(before + std::string(kMarker));
    return before;
  }
  if (!content.is_array()) {
    return InvalidArgument("continue_final_message: the final message has no text to continue");
  }
  for (std::size_t i = content.array().size(); i-- > 0;) {
    Json& part = content.array()[i];
    const Json* text = part.Find("text");
    if (text == nullptr || !text->is_string()) continue;
    std::string before = text->string();
    part["text"] = Json(before + std::string(kMarker));
    return before;
  }
  return InvalidArgument("continue_final_message: the final message has no text to continue");
}

// The rendering up to the marker; right-stripped where the template stripped the marker's blank.
Result<std::string> CutAtMarker(std::string text, const std::string& final_message) {
  const std::string_view tag = Trim(kMarker);
  const std::size_t at = text.rfind(tag);
  if (at == std::string::npos || text.find(Trim(final_message)) == std::string::npos) {
    return InvalidArgument(
        "continue_final_message: the template does not show the final message as it is");
  }
  const bool keeps_blank = std::string_view(text).substr(at).starts_with(kMarker);
  text.resize(at);
  if (!keeps_blank) text.resize(jinja::Strip(text, std::nullopt, false, true).size());
  return text;
}

}  // namespace

Result<LocalTime> ParseLocalTime(std::string_view text) {
  LocalTime time;
  const Status bad = InvalidArgument(
      StrCat("time: must be like 2026-07-14T09:05:03, got \"", Printable(text), "\""));
  const auto field = [&](std::size_t at, std::size_t length, int low, int high, int& out) {
    const auto value = ParseNumber<int>(text.substr(std::min(at, text.size()), length));
    if (!value || text.size() < at + length || *value < low || *value > high) return false;
    out = *value;
    return true;
  };
  const auto is_at = [&](std::size_t at, std::string_view set) {
    return at < text.size() && set.find(text[at]) != std::string_view::npos;
  };
  if (!field(0, 4, 1, 9999, time.year) || !is_at(4, "-") || !field(5, 2, 1, 12, time.month) ||
      !is_at(7, "-") || !field(8, 2, 1, 31, time.day)) {
    return bad;
  }
  if (text.size() == 10) return time;
  if (!is_at(10, "T ") || !field(11, 2, 0, 23, time.hour) || !is_at(13, ":") ||
      !field(14, 2, 0, 59, time.minute)) {
    return bad;
  }
  if (text.size() == 16) return time;
  if (!is_at(16, ":") || !field(17, 2, 0, 59, time.second)) return bad;
  if (is_at(19, ".")) {
    int scale = 100'000;
    for (std::size_t i = 20; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      time.microsecond += (text[i] - '0') * scale;
      scale /= 10;
    }
  }
  return time;
}

LocalTime CurrentLocalTime() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  return {parts.tm_year + 1900,
          parts.tm_mon + 1,
          parts.tm_mday,
          parts.tm_hour,
          parts.tm_min,
          parts.tm_sec,
          static_cast<int>(micros.count() % 1'000'000)};
}

ChatTemplate::ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source) { return Parse(source, nullptr); }

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source, TemplateError* error) {
  TemplateError found;
  ChatTemplate out;
  out.source_ = std::string(source);
  jinja::SyntaxError syntax;
  if (source.size() > kMaxSourceBytes) {
    syntax.message = StrCat("the template is longer than ", kMaxSourceBytes, " bytes");
  } else {
    out.template_ = jinja::ParseTemplate(out.source_, syntax);
  }
  if (out.template_ != nullptr) return out;
  found.line = syntax.at.line;
  found.column = syntax.at.column;
  found.status = Placed(InvalidArgument(std::move(syntax.message)), found);
  if (error != nullptr) *error = found;
  return found.status;
}

namespace {

Result<std::string> Run(const jinja::Template& source,
                        std::vector<std::pair<std::string, jinja::Value>> variables,
                        const LocalTime& now, const RenderLimits& limits, TemplateError* error) {
  jinja::Interpreter interpreter(limits, now);
  Result<std::string> text = interpreter.Render(source, std::move(variables));
  if (text.ok()) return text;
  TemplateError found = interpreter.error();
  const Status placed = Placed(found.status, found);
  if (!found.is_raised) found.status = placed;
  if (error != nullptr) *error = found;
  return placed;
}

}  // namespace

namespace {

// How much there is to render: values, and bytes of text.
struct Amount {
  std::size_t num_values = 0, num_bytes = 0;

  void Add(const Json& json) {
    ++num_values;
    if (json.is_string()) num_bytes += json.string().size();
    if (json.is_array()) {
      for (const Json& item : json.array()) Add(item);
    }
    if (json.is_object()) {
      for (const auto& [name, value] : json.object()) Add(value);
    }
  }
};

// A template copies a text a few times and takes a few hundred steps for a value.
RenderLimits LimitsFor(const ChatInputs& inputs) {
  constexpr std::size_t kStepsPerValue = 400, kCopies = 24, kBytesPerStep = 256;
  Amount amount;
  for (const Json* json : {&inputs.messages, &inputs.tools, &inputs.documents}) amount.Add(*json);
  const std::size_t bytes = amount.num_bytes * kCopies;
  RenderLimits limits = inputs.limits;
  limits.max_steps +=
      static_cast<std::int64_t>(amount.num_values * kStepsPerValue + bytes / kBytesPerStep);
  limits.max_value_bytes += bytes;
  return limits;
}

}  // namespace

Result<std::string> ChatTemplate::Render(const ChatInputs& inputs, TemplateError* error) const {
  const auto fail = [&](const Status& status) {
    if (error != nullptr) *error = {.status = status};
    return status;
  };
  Json messages = inputs.messages;
  std::string final_message;
  if (inputs.continue_final_message) {
    Result<std::string> marked = MarkFinalMessage(messages);
    if (!marked.ok()) return fail(marked.status());
    final_message = *std::move(marked);
  }
  using jinja::Value;
  std::vector<std::pair<std::string, Value>> variables;
  variables.emplace_back("messages", Value::FromJson(messages));
  variables.emplace_back("tools", Value::FromJson(inputs.tools));
  variables.emplace_back("documents", Value::FromJson(inputs.documents));
  variables.emplace_back("add_generation_prompt", Value::Bool(inputs.add_generation_prompt));
  for (const auto& [name, value] : inputs.variables) {
    variables.emplace_back(name, Value::FromJson(value));
  }
  Result<std::string> text =
      Run(*template_, std::move(variables), inputs.now, LimitsFor(inputs), error);
  if (!text.ok() || !inputs.continue_final_message) return text;
  Result<std::string> cut = CutAtMarker(*std::move(text), final_message);
  if (!cut.ok()) return fail(cut.status());
  return cut;
}

Result<std::string> ChatTemplate::RenderContext(const Json& context, const LocalTime& now,
                                                const RenderLimits& limits,
                                                TemplateError* error) const {
  std::vector<std::pair<std::string, jinja::Value>> variables;
  if (context.is_object()) {
    for (const auto& [name, value] : context.object()) {
      variables.emplace_back(name, jinja::Value::FromJson(value));
    }
  }
  return Run(*template_, std::move(variables), now, limits, error);
}

bool ChatTemplate::Uses(std::string_view variable) const {
  return template_->names.contains(std::string(variable));
}

bool ChatTemplate::WantsContentParts() const { return template_->walks_content; }

}  // namespace quire
