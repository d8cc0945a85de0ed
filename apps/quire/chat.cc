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
  Json template_kwargs;
  bool quiet = false;
};

FlagSet MakeFlags(ChatOptions& options) {
  FlagSet flags("chat [MODEL] [-p TEXT] [flags]",
                "Talks with a model. In a terminal, lines can be edited and /help lists the "
                "commands; with other input each line is a message. Answers go to standard "
                "output, all else to standard error.");
  flags.Group("Conversation");
  flags.Add("prompt,p", options.question, "Ask this one question and exit");
  flags.Add("system", options.system, "The system message");
  flags.Add("load", options.load, "Take up a conversation that /save wrote", "FILE");
  flags.Add("chat-template-kwargs", options.template_kwargs,
            "JSON object of further variables for the chat template");
  flags.Add("quiet,q", options.quiet, "No line about speed after an answer");
  options.sampling.AddTo(flags);
  AddEngineFlags(flags, options.config);
  flags.AddExample("quire chat");
  flags.AddExample("quire chat ./my-model -p \"What is the capital of France?\"");
  return flags;
}

// The conversation with what shows it.
class Chat {
 public:
  Chat(ChatSession& session, bool quiet)
      : session_(session),
        is_quiet_(quiet),
        is_terminal_(IsTerminal(STDOUT_FILENO)),
        out_(STDOUT_FILENO, "standard output") {}

  // Asks, and shows the answer. What the model cannot take is told to the person and is ok here;
  // only failures that end the program come back.
  Status Ask(const std::string& text) {
    return Show(session_.Ask(text, [this](std::string_view delta) { return Write(delta); }));
  }

  Status Regenerate() {
    return Show(session_.Regenerate([this](std::string_view delta) { return Write(delta); }));
  }

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
  Status Write(std::string_view delta) {
    return out_.WriteNow(is_terminal_ ? ForTerminal(delta) : std::string(delta));
  }

  Status Show(const Result<AnswerReport>& report) {
    last_ = report.status();
    ClearInterrupt();
    if (!report.ok()) {
      if (report.status().code() != Code::kInvalidArgument) return report.status();
      Complain(report.status().message());
      return {};
    }
    was_interrupted_ = report->was_interrupted;
    QUIRE_RETURN_IF_ERROR(out_.WriteNow("\n"));
    if (report->was_interrupted) Tell("(stopped)");
    if (report->filled_context) Tell("(the context is full; the answer ends here)");
    if (!is_quiet_) Tell(report->speed_line);
    return {};
  }

  ChatSession& session_;
  const bool is_quiet_;
  const bool is_terminal_;
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

// What a conversation starts with: the model's defaults, answers as long as the context allows,
// and the flags over both.
Result<ChatSession> MakeSession(const ChatOptions& options, Llm& llm) {
  if (!llm.has_tokenizer()) {
    return InvalidArgument("the model has no tokenizer; quire generate takes token ids");
  }
  QUIRE_ASSIGN_OR_RETURN(ChatTemplate chat_template,
                         ChooseChatTemplate(options.config.model.chat_template, llm.tokenizer()));
  SamplingParams sampling = llm.sampling_defaults();
  sampling.max_tokens.reset();
  QUIRE_RETURN_IF_ERROR(options.sampling.Apply(sampling));
  ChatSession session(llm, std::move(chat_template),
                      {.sampling = {},
                       .variables = options.template_kwargs,
                       .max_logprobs = options.config.model.max_logprobs});
  QUIRE_RETURN_IF_ERROR(session.SetSampling(sampling));
  if (options.load) QUIRE_RETURN_IF_ERROR(session.Load(*options.load));
  if (options.system) session.SetSystem(*options.system);
  return session;
}

}  // namespace

Status RunChat(Args args) {
  ChatOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  const std::vector<std::string>& positionals = flags.positionals();
  if (positionals.size() > 1) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(positionals[1]),
                                  "; a question goes after -p, in quotes"));
  }
  if (!positionals.empty()) {
    QUIRE_RETURN_IF_ERROR(TakeModel(flags, positionals[0], options.config));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  QUIRE_ASSIGN_OR_RETURN(ChatSession session, MakeSession(options, *llm));
  const InterruptScope interrupts;
  Chat chat(session, options.quiet);
  if (options.question) return AskOnce(chat, *options.question);
  if (!IsTerminal(STDIN_FILENO) || !IsTerminal(STDOUT_FILENO)) return ConverseInLines(chat);
  Tell(StrCat("Talking with ", llm->facts().path, ". /help lists the commands."));
  return ConverseInTerminal(chat);
}

}  // namespace quire
