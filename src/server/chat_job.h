// A chat on its way to an answer, whatever the dialect that asked for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt.h"
#include "request/request.h"
#include "request/sampling_params.h"
#include "server/answer_parser.h"
#include "server/api_state.h"
#include "server/chat_request.h"
#include "server/chat_templates.h"
#include "server/field_names.h"
#include "server/prompt_run.h"
#include "server/reasoning_counter.h"
#include "server/reply_parts.h"
#include "server/tool_plan.h"

namespace quire {

// What the rendering finds out and the answer needs; written by an input thread before the first
// output comes.
struct RenderedChat {
  std::string prompt_end;   // its last bytes, or the marker in the message that is continued
  std::string prompt_text;  // where it is asked for
};

struct ChatJob {
  ReplyHead head;
  std::string_view api = "other";  // that the request came by, as metrics name it
  bool is_stream = false;
  ToolPlan tools;
  bool include_reasoning = true;
  bool wants_prompt_text = false;
  bool is_plain = false;               // the whole answer is content
  std::int64_t num_prompt_tokens = 0;  // of a prompt whose ids are not known
  bool add_special_tokens = false;
  FieldNames names;  // of the client
  std::shared_ptr<RenderedChat> rendered = std::make_shared<RenderedChat>();
  std::vector<std::shared_ptr<RenderedChat>> more_rendered;  // of the other chats of a batch

  std::size_t num_prompts() const { return 1 + more_rendered.size(); }
  const RenderedChat& rendered_of(std::size_t prompt_idx) const {
    return prompt_idx == 0 ? *rendered : *more_rendered[prompt_idx - 1];
  }
};

// A chat that is ready for the engine.
struct ChatTask {
  ChatJob job;
  ChatPrompt prompt;
  PromptInput input;  // all but the prompt
};

// The last of the markers around the reasoning in the message with which the answer goes on; empty
// where it has none or nothing is continued.
std::string_view MarkerInFinalMessage(const ApiState& state, const ChatPrompt& prompt);

// Keeps what the answer needs of the prompt's text, and of MarkerInFinalMessage().
void KeepOfPrompt(const std::string& text, std::string_view marker, bool wants_text,
                  RenderedChat& rendered);

// The engine's input for a chat: rendered and tokenized on an input thread. Uses up all but the
// job.
PromptInput ChatInput(const ApiState& state, ChatTask& task);

// Notes what a client gives the chat template that it does not read; `effort_field` is the name
// under which the client gave prompt.reasoning_effort. A template of the client's own is its
// affair.
void WarnOfUnread(ApiCall& call, const ChatPrompt& prompt, std::string_view effort_field);

// Moves what says how a chat becomes a prompt.
void TakeTemplateFields(ChatTemplateFields& fields, ChatPrompt& prompt);

// The parser of one answer; null where the whole answer is content.
std::unique_ptr<AnswerParser> MakeParser(const ApiState& state, const ChatJob& job,
                                         const RenderedChat& rendered);

// Whether the markers of the job's parsers are special tokens.
bool NeedsSpecialTokens(const ApiState& state, const ToolPlan& tools);

// Splits answers into reasoning, content and calls, and counts tokens; a dialect writes them down.
class ChatListener : public PromptListener {
 public:
  // `num_choices` of each prompt.
  ChatListener(const ApiCall& call, ChatJob job, std::size_t num_choices);

  bool Hear(std::size_t index, RequestOutput output) final;
  void Fail(const Status& error) final { Refuse(job_.names.Translate(error)); }

 protected:
  // How a choice stands.
  struct Choice {
    std::unique_ptr<AnswerParser> parser;
    std::optional<ReasoningCounter> reasoning;
    bool has_begun = false;  // its parsers are made
    int num_calls = 0;
    std::int64_t num_tokens = 0;
  };

  // Why there is no answer, or no more of it, in the client's words.
  virtual void Refuse(const Status& error) = 0;
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
  void Begin(Choice& choice, const RenderedChat& rendered);
  void Parse(Choice& choice, CompletionOutput& answer);
  void CountReasoning(Choice& choice, const CompletionOutput& answer);
  void HideEndToken(CompletionOutput& answer) const;
  void DropUnwanted(Choice& choice);
  void CountParsing(const Choice& choice, bool is_last) const;

  const ApiState& state_;
  const Tokenizer* const tokenizer_;  // null: none
  ChatJob job_;
  const bool shows_special_tokens_;
  Usage usage_;
  const std::size_t num_choices_;
  std::vector<bool> has_prompt_;     // of each prompt
  std::vector<Choice> choices_;      // of the first prompt, then of the next
  std::vector<AnswerEvent> events_;  // of the answer under way
};

}  // namespace quire
