// quire: one program, a subcommand a task.
#include <array>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "apps/quire/command.h"
#include "apps/quire/io.h"
#include "base/strings.h"

namespace quire {

namespace {

Status RunHelp(Args args);
Status RunVersion(Args args);

constexpr std::array kCommands = {
    Command{"chat", "talk with a model in the terminal", RunChat},
    Command{"complete", "continue a prompt with a server's model", RunComplete},
    Command{"generate", "continue a prompt, or a file of prompts", RunGenerate},
    Command{"serve", "serve a model over HTTP", RunServe},
    Command{"run-batch", "answer a file of requests", RunRunBatch},
    Command{"eval", "measure a model: perplexity, logits", RunEval},
    Command{"bench", "measure speed: machine, kernels, latency, throughput", RunBench},
    Command{"inspect", "tell what a model file holds and needs", RunInspect},
    Command{"structured", "check texts against a schema, a regex, a grammar", RunStructured},
    Command{"tokenize", "text to token ids and back", RunTokenize},
    Command{"template", "render a chat template", RunTemplate},
    Command{"version", "print the version", RunVersion},
    Command{"help", "tell about a command: quire help generate", RunHelp},
};

std::string Overview() {
  std::string out =
      "Usage: quire COMMAND [MODEL] [flags]\n\n"
      "Runs large language models on this machine.\n\n"
      "Commands:\n";
  for (const Command& command : kCommands) {
    out += StrCat("  ", command.name, std::string(12 - command.name.size(), ' '), command.summary,
                  "\n");
  }
  return out +
         "\nMODEL is a folder with config.json and *.safetensors, a GGUF file, a file name\n"
         "in ~/.cache/quire/models, or org/name in the Hugging Face cache of this disk.\n"
         "Without one the default model is taken.\n\n"
         "`quire help COMMAND` lists the flags of a command.\n";
}

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

Status UnknownCommand(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(kCommands.size());
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::optional<std::string> nearest = NearestName(name, names);
  return InvalidArgument(StrCat("unknown command ", Printable(name), "; ",
                                nearest ? StrCat("did you mean ", *nearest, "?")
                                        : std::string("quire help lists the commands")));
}

Status RunHelp(Args args) {
  if (args.empty() || args[0] == "help" || args[0] == "--help" || args[0] == "-h") {
    return PrintToStdout(Overview());
  }
  const Command* command = FindCommand(args[0]);
  if (command == nullptr) return UnknownCommand(args[0]);
  std::vector<std::string_view> forwarded(args.begin() + 1, args.end());
  forwarded.emplace_back("--help");
  return command->run(forwarded);
}

Status RunVersion(Args args) {
  if (!args.empty() && args[0] != "--help" && args[0] != "-h") {
    return InvalidArgument(StrCat("version takes no arguments, got ", Printable(args[0])));
  }
  return PrintToStdout("quire " QUIRE_VERSION "\n");
}

Status Dispatch(Args args) {
  if (args.empty()) {
    Complain("a command is missing; quire help lists them");
    return InvalidArgument("");
  }
  const std::string_view name = args[0];
  if (name == "--help" || name == "-h") return RunHelp(args.subspan(1));
  if (name == "--version" || name == "-V") return RunVersion({});
  const Command* command = FindCommand(name);
  return command == nullptr ? UnknownCommand(name) : command->run(args.subspan(1));
}

// The program's entry: the one place where a library's exception ends.
Status RunGuarded(Args args) {
  try {
    return Dispatch(args);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("out of memory");
  } catch (const std::exception& error) {
    return Internal(StrCat("unexpected failure: ", error.what()));
  }
}

}  // namespace

}  // namespace quire

int main(int argc, char** argv) {
  quire::HoldStandardFiles();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), with a message
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const quire::Status status = quire::RunGuarded(args);
  if (!status.message().empty()) quire::Complain(status.message());
  return quire::ExitCodeOf(status);
}
