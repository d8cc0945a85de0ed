// Chat templates: Jinja as Hugging Face transformers configures it, and the rendering of chats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/json.h"

namespace quire {

namespace jinja {
struct Template;  // jinja/ast.h
}

// A local time, as strftime_now() shows it.
struct LocalTime {
  int year = 1970;
  int month = 1;  // 1 to 12
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int microsecond = 0;
};

// "2026-07-14T09:05:03" (also with a blank for the T, without the time, with fractions).
Result<LocalTime> ParseLocalTime(std::string_view text);
LocalTime CurrentLocalTime();

// Bounds of one rendering; a template that passes one fails with kResourceExhausted. Rendering a
// chat is granted more, in proportion to the chat.
struct RenderLimits {
  std::int64_t max_steps = 500'000;          // nodes evaluated, and bytes copied in 256s
  std::size_t max_output_bytes = 64u << 20;  // of the result
  std::size_t max_value_bytes = 24u << 20;   // of all strings and lists made on the way
  int max_depth = 200;                       // nested calls and recursive loops
};

// A failed parse or rendering, with its place in the template where one is known.
struct TemplateError {
  Status status;
  int line = 0;            // from 1; 0: not known
  int column = 0;          // from 1
  bool is_raised = false;  // raise_exception(): the template refuses this chat
};

// What a chat template is rendered with.
struct ChatInputs {
  Json messages;   // an array of objects
  Json tools;      // null: none
  Json documents;  // null: none
  bool add_generation_prompt = false;
  bool continue_final_message = false;  // the text ends inside the last message
  // Any further variables (bos_token, eos_token, chat_template_kwargs, …); a later one of the same
  // name counts.
  std::vector<std::pair<std::string, Json>> variables;
  LocalTime now = CurrentLocalTime();  // what strftime_now() shows
  RenderLimits limits;
};

// A parsed template; immutable, any thread. Parsed once, rendered many times.
class ChatTemplate {
 public:
  // kInvalidArgument "line L, column C: …" for a syntax error.
  static Result<ChatTemplate> Parse(std::string_view source);
  // As Parse; on failure also fills `error`.
  static Result<ChatTemplate> Parse(std::string_view source, TemplateError* error);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The chat's text. kInvalidArgument: the template refused (raise_exception, its text is the
  // message), or met a value it cannot use ("line L, column C: …"); kResourceExhausted: a limit.
  // `error`, where given, is filled on failure.
  Result<std::string> Render(const ChatInputs& inputs, TemplateError* error = nullptr) const;

  // The template with nothing but `context` (an object) as its variables: no chat handling.
  Result<std::string> RenderContext(const Json& context, const LocalTime& now,
                                    const RenderLimits& limits = {},
                                    TemplateError* error = nullptr) const;

  // Whether the template reads the variable anywhere ("tools", "enable_thinking", …).
  bool Uses(std::string_view variable) const;

  // Whether messages' content is walked as a list of parts somewhere ("openai" content format);
  // otherwise parts should be joined into one string before rendering.
  bool WantsContentParts() const;

  const std::string& source() const { return source_; }

 private:
  ChatTemplate();

  std::string source_;
  std::unique_ptr<const jinja::Template> template_;
};

}  // namespace quire
