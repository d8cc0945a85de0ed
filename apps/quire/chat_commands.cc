#include "apps/quire/chat_commands.h"

#include <array>
#include <vector>

#include "apps/quire/command.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"
#include "config/options.h"

namespace quire {

namespace {

struct ChatCommand {
  std::string_view name;
  std::string_view arguments;
  std::string_view help;
  Result<ChatAction> (*run)(std::string_view argument, ChatSession& session);
};

Result<ChatAction> Help(std::string_view argument, ChatSession& session);

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The first word, and the rest.
std::pair<std::string_view, std::string_view> CutWord(std::string_view text) {
  const std::size_t end = text.find_first_of(" \t\n");
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), Trim(text.substr(end + 1))};
}

Result<ChatAction> System(std::string_view argument, ChatSession& session) {
  if (!argument.empty()) {
    session.SetSystem(std::string(argument));
    return ChatAction::kNothing;
  }
  const std::optional<std::string> system = session.system();
  Tell(system ? ForTerminal(*system) : "there is no system message; /system TEXT sets one");
  return ChatAction::kNothing;
}

Result<ChatAction> Save(std::string_view argument, ChatSession& session) {
  if (argument.empty()) return InvalidArgument("/save: a file name must follow");
  QUIRE_RETURN_IF_ERROR(session.Save(std::string(argument)));
  Tell(StrCat("saved ", session.messages().size(), " messages to ", Printable(argument)));
  return ChatAction::kNothing;
}

Result<ChatAction> Load(std::string_view argument, ChatSession& session) {
  if (argument.empty()) return InvalidArgument("/load: a file name must follow");
  QUIRE_RETURN_IF_ERROR(session.Load(std::string(argument)));
  Tell(StrCat("loaded ", session.messages().size(), " messages from ", Printable(argument)));
  return ChatAction::kNothing;
}

Result<ChatAction> Clear(std::string_view, ChatSession& session) {
  session.Clear();
  Tell("a new conversation");
  return ChatAction::kNothing;
}

Result<ChatAction> Regenerate(std::string_view, ChatSession&) { return ChatAction::kRegenerate; }

void ShowParams(const ChatSession& session, std::string_view only) {
  const Json all = ToJson(session.sampling().values);
  for (const auto& [name, value] : all.object()) {
    if (only.empty() || name == only) Tell(StrCat("  ", name, " ", value.Dump()));
  }
}

// "/params", "/params NAME", "/params NAME VALUE"
Result<ChatAction> Params(std::string_view argument, ChatSession& session) {
  const auto [name, value] = CutWord(argument);
  if (name.empty()) {
    ShowParams(session, {});
    return ChatAction::kNothing;
  }
  std::string plain(name);
  for (char& c : plain) {
    if (c == '-') c = '_';
  }
  if (value.empty() && IsSamplingParam(plain)) {
    ShowParams(session, plain);
    return ChatAction::kNothing;
  }
  QUIRE_RETURN_IF_ERROR(session.SetParam(plain, value));
  ShowParams(session, plain);
  return ChatAction::kNothing;
}

Result<ChatAction> Exit(std::string_view, ChatSession&) { return ChatAction::kExit; }

constexpr std::array kCommands = {
    ChatCommand{"/help", "", "this list", Help},
    ChatCommand{"/system", "[TEXT]", "set the system message, or show it", System},
    ChatCommand{"/regen", "", "answer the last question again", Regenerate},
    ChatCommand{"/params", "[NAME [VALUE]]", "show or set how tokens are chosen", Params},
    ChatCommand{"/save", "FILE", "keep the conversation in a file", Save},
    ChatCommand{"/load", "FILE", "take a conversation up again", Load},
    ChatCommand{"/clear", "", "begin a new conversation", Clear},
    ChatCommand{"/exit", "", "end the program, as Ctrl-D does", Exit},
};

Result<ChatAction> Help(std::string_view, ChatSession&) {
  for (const ChatCommand& command : kCommands) {
    std::string head = StrCat("  ", command.name, " ", command.arguments);
    head.resize(28, ' ');
    Tell(head + std::string(command.help));
  }
  Tell("Ctrl-C stops an answer. A message that begins with a slash is written with two.");
  Tell("A line that ends in a backslash goes on in the next one.");
  return ChatAction::kNothing;
}

}  // namespace

bool IsChatCommand(std::string_view line) {
  return line.starts_with('/') && !line.starts_with("//");
}

std::string ChatMessageOf(std::string_view line) {
  return std::string(line.starts_with("//") ? line.substr(1) : line);
}

Result<ChatAction> RunChatCommand(std::string_view line, ChatSession& session) {
  const auto [name, argument] = CutWord(Trim(line));
  std::vector<std::string> names;
  for (const ChatCommand& command : kCommands) {
    if (command.name == name) return command.run(argument, session);
    names.emplace_back(command.name);
  }
  const std::optional<std::string> nearest = NearestName(name, names);
  return InvalidArgument(StrCat(
      "unknown command ", Printable(name), "; ",
      nearest ? StrCat("did you mean ", *nearest, "?") : std::string("/help lists the commands")));
}

}  // namespace quire
