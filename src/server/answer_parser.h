// What an answer's text is made of: reasoning, content and tool calls, told apart while it streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quire {

enum class AnswerEventKind {
  kReasoning,  // `text` goes on with the reasoning
  kContent,    // `text` goes on with the content
  kCallBegin,  // call number `call_index` begins; `id` and `name` are whole
  kArguments,  // `text` goes on with the arguments of call `call_index`
};

struct AnswerEvent {
  AnswerEventKind kind = AnswerEventKind::kContent;
  int call_index = 0;  // 0, 1, … in the order of the answer
  std::string id;
  std::string name;
  std::string text;  // never empty but in kCallBegin

  friend bool operator==(const AnswerEvent&, const AnswerEvent&) = default;
};

// Reads one answer as it comes. One per answer (choice); any one thread at a time.
//
// Joined by kind and call, the events are the same for every way to cut the text into deltas, so
// an answer that is not streamed is one Feed and one Finish. Text waits only while it can still
// become a marker or the head of a call. A call that is malformed before its name and the start of
// its arguments are known comes out as content, as it was written; one that breaks off later
// keeps the arguments that came, and what follows the break is content. Every call that began
// whole has arguments: "{}" where the model wrote none.
//
// Time is linear in the text, memory that of the text held back: at most kMaxHeldBytes.
class AnswerParser {
 public:
  static constexpr std::size_t kMaxHeldBytes = std::size_t{1} << 20;

  virtual ~AnswerParser() = default;

  // Appends what `delta` adds to `out`. A delta may end anywhere, even within a character.
  virtual void Feed(std::string_view delta, std::vector<AnswerEvent>& out) = 0;

  // The answer is over: appends what was held back. Called once, after the last Feed.
  virtual void Finish(std::vector<AnswerEvent>& out) = 0;

  // Whether the text that comes next is reasoning, unless it is a marker.
  virtual bool in_reasoning() const { return false; }
  // Bytes of reasoning that are held back, as they may become a marker.
  virtual std::size_t num_held() const { return 0; }
};

class ParameterTypes;    // server/tool_parsers/parameter_types.h
struct ReasoningFormat;  // server/reasoning_parser.h
struct ToolFormat;       // server/tool_parser.h

struct AnswerParserOptions {
  const ReasoningFormat* reasoning = nullptr;  // null: no reasoning is told apart
  const ToolFormat* tools = nullptr;           // null: calls stay content (tool_choice "none")
  // The end of the rendered prompt (a few hundred bytes are enough), which may have opened the
  // reasoning or closed it already.
  std::string_view prompt_end;
  std::uint64_t id_seed = 0;              // random; the ids of calls are made of it
  const ParameterTypes* types = nullptr;  // of the functions; outlives the parser. Null: unknown
};

// A parser for one answer. Tool calls are looked for in the content only, never in the reasoning.
std::unique_ptr<AnswerParser> MakeAnswerParser(const AnswerParserOptions& options);

// For a request whose answer is constrained to the JSON of calls (`tool_choice`): "required" gives
// a list of {"name": …, "parameters": …}, a named function gives its arguments alone.
std::unique_ptr<AnswerParser> MakeRequiredCallParser(const AnswerParserOptions& options);
std::unique_ptr<AnswerParser> MakeNamedCallParser(const AnswerParserOptions& options,
                                                  std::string_view function_name);

}  // namespace quire
