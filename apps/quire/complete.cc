// quire complete: continues prompts by a server, raw, without a template.
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "apps/quire/command.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/interrupt.h"
#include "apps/quire/io.h"
#include "apps/quire/openai_client.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"

namespace quire {

namespace {

constexpr std::string_view kDefaultUrl = "http://localhost:8000";

struct CompleteOptions {
  ServerFlags server;
  SamplingFlags sampling;
  std::optional<std::string> model;
  std::optional<std::string> prompt;
  std::optional<std::string> file;
  bool quiet = false;
};

FlagSet MakeFlags(CompleteOptions& options) {
  FlagSet flags("complete [MODEL] [-p TEXT | -f FILE | -] [--url URL] [flags]",
                "Continues a prompt with the model that a server has, without a chat template. "
                "Without a prompt each line of standard input is one. Standard output holds the "
                "answers only, as they come; all else goes to standard error.");
  flags.Group("Prompt");
  flags.Add("prompt,p", options.prompt, "The prompt");
  flags.Add("file,f", options.file,
            "File with the prompt, taken whole; - or a lone - is standard input", "FILE");
  flags.Add("model", options.model, "The model's name at the server; none: its first one", "NAME");
  flags.Add("quiet,q", options.quiet, "No line about speed after an answer");
  options.server.url = kDefaultUrl;
  options.server.AddTo(flags);
  options.sampling.AddTo(flags);
  flags.AddExample("quire complete --url http://localhost:8000 -p \"Once upon a time\"");
  flags.AddExample("quire complete -f prompt.txt --temperature 0 --max-tokens 64");
  return flags;
}

// MODEL and "-", in any order.
Status TakePositionals(const FlagSet& flags, CompleteOptions& options) {
  bool has_model = false;
  for (const std::string& text : flags.positionals()) {
    if (text == "-" && !options.file) {
      options.file = "-";
    } else if (text != "-" && !has_model && !options.model) {
      options.model = text;
      has_model = true;
    } else {
      return InvalidArgument(StrCat("one argument too many: ", Printable(text),
                                    "; the prompt goes after -p, in quotes"));
    }
  }
  if (options.prompt && options.file) {
    return InvalidArgument("more than one prompt: -p, -f and - exclude each other");
  }
  return {};
}

// Asks the server and shows what it answers.
class Completer {
 public:
  Completer(OpenAiClient client, const CompleteOptions& options, JsonObject fields)
      : client_(std::move(client)),
        fields_(std::move(fields)),
        is_quiet_(options.quiet),
        is_terminal_(IsTerminal(STDOUT_FILENO)),
        out_(STDOUT_FILENO, "standard output") {}

  // With `ends_line` a line feed comes after the answer.
  Status Complete(const std::string& prompt, bool ends_line) {
    if (!IsValidUtf8(prompt)) return InvalidArgument("the prompt is no UTF-8");
    JsonObject body = fields_;
    body.emplace_back("prompt", prompt);
    QUIRE_ASSIGN_OR_RETURN(
        const StreamedAnswer answer,
        client_.Complete(Json(std::move(body)),
                         [this](StreamedText, std::string_view text) { return Write(text); }));
    if (ends_line || is_terminal_) QUIRE_RETURN_IF_ERROR(out_.WriteNow("\n"));
    if (answer.was_stopped) return Status(Code::kCancelled, "");
    if (!is_quiet_ && !answer.speed_line.empty()) Tell(answer.speed_line);
    return {};
  }

 private:
  Status Write(std::string_view text) {
    return out_.WriteNow(is_terminal_ ? ForTerminal(text) : std::string(text));
  }

  OpenAiClient client_;
  JsonObject fields_;
  bool is_quiet_;
  bool is_terminal_;
  Writer out_;
};

Status CompleteLines(Completer& completer) {
  LineReader reader(STDIN_FILENO);
  for (;;) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
    if (!line) return {};
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    QUIRE_RETURN_IF_ERROR(completer.Complete(*line, true));
  }
}

}  // namespace

Status RunComplete(Args args) {
  CompleteOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakePositionals(flags, options));
  if (options.file) {
    QUIRE_ASSIGN_OR_RETURN(options.prompt, ReadInput(*options.file));
  }
  SamplingParams sampling;
  QUIRE_RETURN_IF_ERROR(options.sampling.Apply(sampling));
  if (sampling.n != 1) return InvalidArgument(StrCat("n: must be 1 here, got ", sampling.n));
  const InterruptScope interrupts;
  QUIRE_ASSIGN_OR_RETURN(OpenAiClient client, OpenAiClient::Create(options.server, IsInterrupted));
  if (!options.model) {
    QUIRE_ASSIGN_OR_RETURN(options.model, client.FirstModel());
  }
  JsonObject fields = SamplingFields(sampling, options.sampling.names());
  fields.emplace_back("model", *options.model);
  Completer completer(std::move(client), options, std::move(fields));
  return options.prompt ? completer.Complete(*options.prompt, false) : CompleteLines(completer);
}

}  // namespace quire
