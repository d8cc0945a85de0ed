// A chat on its way to an answer, whatever the dialect that asked for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt.h"
#include "request/request.h"
#include "request/sampling_params.h"
#include "server/answer_parser.h"
#include "server/api_state.h"
#include "server/chat_templates.h"
#include "server/prompt_run.h"
#include "server/reply_parts.h"
#include "server/tool_plan.h"

namespace quire {

// What the rendering finds out and the answer needs; written by an input thread before the first
// output comes.
struct RenderedChat {
  std::string prompt_end;   // its last bytes
  std::string prompt_text;  // where it is asked for
};

struct ChatJob {
  ReplyHead head;
  std::string_view api = "other";  // that the request came by, as metrics name it
  bool is_stream = false;
  ToolPlan tools;
  bool include_reasoning = true;
  bool wants_prompt_text = false;
  bool add_special_tokens = false;
  std::shared_ptr<RenderedChat> rendered = std::make_shared<RenderedChat>();
};

// The engine's input for a chat: rendered and tokenized on an input thread. `input` holds all but
// the text.
PromptInput ChatInput(const ApiState& state, ChatPrompt chat, const ChatJob& job,
                      PromptInput input);

// The parser of one answer; null where the whole answer is content.
std::unique_ptr<AnswerParser> MakeParser(const ApiState& state, const ChatJob& job);

// Whether the markers of the job's parsers are special tokens.
bool NeedsSpecialTokens(const ApiState& state, const ToolPlan& tools);

// Splits answers into reasoning, content and calls, and counts tokens; a dialect writes them down.
class ChatListener : public PromptListener {
 public:
  ChatListener(const ApiState& state, ChatJob job, std::size_t num_choices);

  bool Hear(std::size_t index, RequestOutput output) final;

 protected:
  // How a choice stands.
  struct Choice {
    std::unique_ptr<AnswerParser> parser;
    bool has_begun = false;  // its parser is made
    int num_calls = 0;
    std::int64_t num_tokens = 0;
  };

  // The first output came; the prompt's ids are in it.
  virtual void HearPrompt(const RequestOutput& output) = 0;
  // News of one choice; `answer.finish_reason` is set with the last.
  virtual void HearAnswer(std::size_t choice, const std::vector<AnswerEvent>& events,
                          const CompletionOutput& answer) = 0;
  // All news of this output have been told. False as in Hear.
  virtual bool EndNews() = 0;

  // "tool_calls" where calls ended the answer by themselves.
  std::string_view FinishReasonOf(std::size_t choice, const CompletionOutput& answer) const;

  const ApiState& state() const { return state_; }
  const ChatJob& job() const { return job_; }
  const Usage& usage() const { return usage_; }
  const Choice& choice(std::size_t i) const { return choices_[i]; }

 private:
  void Parse(Choice& choice, CompletionOutput& answer);
  void HideEndToken(CompletionOutput& answer) const;
  void DropUnwanted(Choice& choice);
  void CountParsing(const Choice& choice, bool is_last) const;

  const ApiState& state_;
  ChatJob job_;
  const bool shows_special_tokens_;
  Usage usage_;
  bool has_prompt_ = false;
  std::vector<Choice> choices_;
  std::vector<AnswerEvent> events_;  // of the answer under way
};

}  // namespace quire
