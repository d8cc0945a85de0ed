// quire chat: a conversation in the terminal, or with one message a line on standard input.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "apps/quire/chat_commands.h"
#include "apps/quire/chat_session.h"
#include "apps/quire/command.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/interrupt.h"
#include "apps/quire/io.h"
#include "apps/quire/line_editor.h"
#include "apps/quire/local_chat.h"
#include "apps/quire/openai_client.h"
#include "apps/quire/remote_chat.h"
#include "apps/quire/terminal.h"
#include "apps/quire/tokenizer_source.h"
#include "base/strings.h"

namespace quire {

namespace {

struct ChatOptions {
  EngineConfig config;
  SamplingFlags sampling;
  std::optional<std::string> question;
  std::optional<std::string> system;
  std::optional<std::string> load;
  ServerFlags server;
  Json template_kwargs;
  bool quiet = false;
};

FlagSet MakeFlags(ChatOptions& options) {
  FlagSet flags("chat [MODEL] [-p TEXT] [--url URL] [flags]",
                "Talks with a model, or with the one that a server has. In a terminal, lines can "
                "be edited and /help lists the commands; with other input each line is a message. "
                "Answers go to standard output, all else to standard error.");
  flags.Group("Conversation");
  flags.Add("prompt,p", options.question, "Ask this one question and exit");
  flags.Add("system", options.system, "The system message");
  flags.Add("load", options.load, "Take up a conversation that /save wrote", "FILE");
  flags.Add("chat-template-kwargs", options.template_kwargs,
            "JSON object of further variables for the chat template");
  flags.Add("quiet,q", options.quiet, "No line about speed after an answer");
  options.server.AddTo(flags);
  options.sampling.AddTo(flags);
  AddEngineFlags(flags, options.config);
  flags.AddExample("quire chat");
  flags.AddExample("quire chat ./my-model -p \"What is the capital of France?\"");
  flags.AddExample("quire chat --url http://localhost:8000");
  return flags;
}

// The conversation with what shows it.
class Chat {
 public:
  // With `outlives_failures` only those of the output end the conversation.
  Chat(ChatSession& session, bool quiet, bool outlives_failures)
      : session_(session),
        is_quiet_(quiet),
        outlives_failures_(outlives_failures),
        is_terminal_(IsTerminal(STDOUT_FILENO)),
        has_color_(WantsColor(STDOUT_FILENO)),
        out_(STDOUT_FILENO, "standard output") {}

  // Asks, and shows the answer. What the model cannot take is told to the person and is ok here;
  // only failures that end the program come back.
  Status Ask(const std::string& text) { return Show(session_.Ask(text, MakeSink())); }
  Status Regenerate() { return Show(session_.Regenerate(MakeSink())); }

  // The result of the last answer, for the one-question form.
  const Status& last() const { return last_; }
  bool was_interrupted() const { return was_interrupted_; }

  // Messages and commands from `next`, which gives nullopt at the end.
  template <typename NextLine>
  Status Converse(NextLine next) {
    for (;;) {
      QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> line, next());
      if (!line) return {};
      if (line->find_first_not_of(" \t\r\n") == std::string::npos) continue;
      if (!IsChatCommand(*line)) {
        QUIRE_RETURN_IF_ERROR(Ask(ChatMessageOf(*line)));
        continue;
      }
      const Result<ChatAction> action = RunChatCommand(*line, session_);
      if (!action.ok()) Complain(action.status().message());
      if (!action.ok() || *action == ChatAction::kNothing) continue;
      if (*action == ChatAction::kExit) return {};
      QUIRE_RETURN_IF_ERROR(Regenerate());
    }
  }

 private:
  StreamSink MakeSink() {
    return [this](StreamedText kind, std::string_view text) { return Write(kind, text); };
  }

  // Reasoning is for a person's eyes only, and dim there.
  Status Write(StreamedText kind, std::string_view delta) {
    const bool is_reasoning = kind == StreamedText::kReasoning;
    if (is_reasoning && !is_terminal_) return {};
    std::string text = is_terminal_ ? ForTerminal(delta) : std::string(delta);
    if (is_reasoning && has_color_) text = StrCat("\x1b[2m", text, "\x1b[0m");
    const bool ends_reasoning = was_reasoning_ && !is_reasoning;
    was_reasoning_ = is_reasoning;
    written_ = out_.WriteNow(ends_reasoning ? "\n" + text : text);
    return written_;
  }

  Status Show(const Result<AnswerReport>& report) {
    last_ = report.status();
    was_reasoning_ = false;
    ClearInterrupt();
    QUIRE_RETURN_IF_ERROR(written_);
    if (!report.ok()) {
      const bool goes_on = report.status().code() == Code::kInvalidArgument || outlives_failures_;
      if (!goes_on) return report.status();
      Complain(report.status().message());
      return {};
    }
    was_interrupted_ = report->was_interrupted;
    QUIRE_RETURN_IF_ERROR(out_.WriteNow("\n"));
    if (report->was_interrupted) Tell("(stopped)");
    if (report->filled_context) Tell("(the context is full; the answer ends here)");
    if (!is_quiet_ && !report->speed_line.empty()) Tell(report->speed_line);
    return {};
  }

  ChatSession& session_;
  const bool is_quiet_;
  const bool outlives_failures_;
  const bool is_terminal_;
  const bool has_color_;
  bool was_reasoning_ = false;
  Status written_;
  bool was_interrupted_ = false;
  Status last_;
  Writer out_;
};

// Lines from the editor; one that ends in a backslash goes on in the next.
Status ConverseInTerminal(Chat& chat) {
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<LineEditor> editor,
                         LineEditor::Create(ChatHistoryFile()));
  return chat.Converse([&]() -> Result<std::optional<std::string>> {
    QUIRE_ASSIGN_OR_RETURN(std::optional<std::string> line, editor->ReadLine("> "));
    while (line && line->ends_with('\\')) {
      line->back() = '\n';
      QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> more, editor->ReadLine("… "));
      if (!more) break;
      *line += *more;
    }
    return line;
  });
}

Status ConverseInLines(Chat& chat) {
  LineReader reader(STDIN_FILENO);
  return chat.Converse([&] { return reader.Next(); });
}

Status AskOnce(Chat& chat, const std::string& question) {
  QUIRE_RETURN_IF_ERROR(chat.Ask(question));
  if (!chat.last().ok()) return Status(chat.last().code(), "");  // told already
  return chat.was_interrupted() ? Status(Code::kCancelled, "") : Status();
}

// What a conversation starts with, over `sampling`: what the flags say.
Result<ChatSession> MakeSession(const ChatOptions& options, ChatModel& model,
                                SamplingParams sampling) {
  sampling.max_tokens.reset();  // as long as the context allows
  QUIRE_RETURN_IF_ERROR(options.sampling.Apply(sampling));
  ChatSession session(model);
  QUIRE_RETURN_IF_ERROR(
      session.SetSampling({.values = std::move(sampling), .given = options.sampling.names()}));
  if (options.load) QUIRE_RETURN_IF_ERROR(session.Load(*options.load));
  if (options.system) session.SetSystem(*options.system);
  return session;
}

Status Talk(const ChatOptions& options, ChatSession& session, const std::string& with) {
  Chat chat(session, options.quiet, options.server.url.has_value());
  if (options.question) return AskOnce(chat, *options.question);
  if (!IsTerminal(STDIN_FILENO) || !IsTerminal(STDOUT_FILENO)) return ConverseInLines(chat);
  Tell(StrCat("Talking with ", with, ". /help lists the commands."));
  return ConverseInTerminal(chat);
}

Status ChatWithEngine(const ChatOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  if (!llm->has_tokenizer()) {
    return InvalidArgument("the model has no tokenizer; quire generate takes token ids");
  }
  QUIRE_ASSIGN_OR_RETURN(ChatTemplate chat_template,
                         ChooseChatTemplate(options.config.model.chat_template, llm->tokenizer()));
  LocalChat model(
      *llm, std::move(chat_template),
      {.variables = options.template_kwargs, .max_logprobs = options.config.model.max_logprobs});
  QUIRE_ASSIGN_OR_RETURN(ChatSession session,
                         MakeSession(options, model, llm->sampling_defaults()));
  const InterruptScope interrupts;
  return Talk(options, session, llm->facts().path);
}

Status ChatWithServer(const ChatOptions& options) {
  const InterruptScope interrupts;
  QUIRE_ASSIGN_OR_RETURN(OpenAiClient client, OpenAiClient::Create(options.server, IsInterrupted));
  std::string name = options.config.model.model;
  if (name.empty()) {
    QUIRE_ASSIGN_OR_RETURN(name, client.FirstModel());
  }
  const std::string with = StrCat(name, " at ", client.address());
  RemoteChat model(std::move(client), name, options.template_kwargs);
  QUIRE_ASSIGN_OR_RETURN(ChatSession session, MakeSession(options, model, SamplingParams()));
  return Talk(options, session, with);
}

}  // namespace

Status RunChat(Args args) {
  ChatOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(
      TakeOnlyModel(flags, options.config, "a question goes after -p, in quotes"));
  if (!options.server.url) return ChatWithEngine(options);
  QUIRE_RETURN_IF_ERROR(RefuseEngineFlags(flags));
  return ChatWithServer(options);
}

}  // namespace quire
