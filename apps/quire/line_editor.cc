#include "apps/quire/line_editor.h"

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/quire/interrupt.h"
#include "apps/quire/key_reader.h"

namespace quire {

namespace {

constexpr int kHistoryLines = 1000;

constexpr std::string_view kPastedLineFeedUtf8 = "\xE2\x90\xA4";
constexpr std::string_view kPastedTabUtf8 = "\xE2\x90\x89";

// What libedit's callbacks reach.
struct Input {
  KeyReader keys{STDIN_FILENO};
  std::string prompt;
  bool was_line_empty = true;  // when the keys ended
};

Input& InputOf(EditLine* editor) {
  void* input = nullptr;
  el_get(editor, EL_CLIENTDATA, &input);
  return *static_cast<Input*>(input);
}

int ReadChar(EditLine* editor, wchar_t* out) {
  Input& input = InputOf(editor);
  const std::optional<wchar_t> next = input.keys.Next();
  if (!next) {
    const LineInfo* line = el_line(editor);
    input.was_line_empty = line->lastchar == line->buffer;
    return 0;
  }
  *out = *next;
  return 1;
}

char* Prompt(EditLine* editor) { return InputOf(editor).prompt.data(); }

void WriteToTerminal(std::string_view text) {
  // A terminal that is gone shows itself at the next read.
  (void)!write(STDOUT_FILENO, text.data(), text.size());
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (;;) {
    const std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

// libedit shows what the locale can hold; only UTF-8 holds what models say.
void UseUtf8Locale() {
  // NOLINTBEGIN(concurrency-mt-unsafe): the other threads compute, and read no locale
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  // NOLINTEND(concurrency-mt-unsafe)
}

// Makes the file before libedit writes it, so that nobody else can ever read it.
void MakePrivateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  fchmod(fd, 0600);
  close(fd);
}

}  // namespace

struct LineEditor::State {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string history_file;
  Input input;

  void Remember(const std::string& line) const {
    HistEvent event{};
    ::history(history, &event, H_ENTER, line.c_str());
    if (!history_file.empty()) ::history(history, &event, H_SAVE, history_file.c_str());
  }
};

LineEditor::LineEditor(std::unique_ptr<State> state) : state_(std::move(state)) {}

LineEditor::~LineEditor() {
  if (state_->editor != nullptr) el_end(state_->editor);
  if (state_->history != nullptr) history_end(state_->history);
}

Result<std::unique_ptr<LineEditor>> LineEditor::Create(const std::string& history_file) {
  UseUtf8Locale();
  std::unique_ptr<LineEditor> editor(new LineEditor(std::make_unique<State>()));
  State& state = *editor->state_;
  state.history = history_init();
  state.editor = el_init("quire", stdin, stdout, stderr);
  if (state.history == nullptr || state.editor == nullptr) {
    return Internal("line editing: the terminal cannot be set up");
  }
  HistEvent event{};
  history(state.history, &event, H_SETSIZE, kHistoryLines);
  history(state.history, &event, H_SETUNIQUE, 1);
  state.history_file = history_file;
  if (!history_file.empty()) {
    MakePrivateFile(history_file);
    history(state.history, &event, H_LOAD, history_file.c_str());
  }
  el_set(state.editor, EL_CLIENTDATA, &state.input);
  el_set(state.editor, EL_PROMPT, Prompt);
  el_set(state.editor, EL_EDITOR, "emacs");
  el_set(state.editor, EL_SIGNAL, 0);
  el_set(state.editor, EL_HIST, history, state.history);
  el_set(state.editor, EL_GETCFN, ReadChar);
  el_source(state.editor, nullptr);  // the user's ~/.editrc
  return editor;
}

Result<std::optional<std::string>> LineEditor::ReadLine(const std::string& prompt) {
  State& state = *state_;
  state.input.prompt = prompt;
  for (;;) {
    int count = 0;
    // Before the prompt: what answers it must not meet the terminal's line mode, where Ctrl-C
    // throws away what was typed. el_gets alone changes the mode when the prompt is already there.
    el_set(state.editor, EL_PREP_TERM, 1);
    state.input.keys.BeginLine();
    WriteToTerminal(kMarkPastes);
    const char* text = el_gets(state.editor, &count);
    WriteToTerminal(kMarkNoPastes);
    if (state.input.keys.TakeInterrupt()) {
      ClearInterrupt();
      WriteToTerminal("\r\n");
      if (state.input.was_line_empty) return Status(Code::kCancelled, "");
      continue;
    }
    if (text == nullptr || count <= 0) return std::optional<std::string>();
    std::string line(text);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    if (!line.empty()) state.Remember(line);
    line = ReplaceAll(line, kPastedLineFeedUtf8, "\n");
    return std::optional(ReplaceAll(line, kPastedTabUtf8, "\t"));
  }
}

std::string ChatHistoryFile() {
  namespace fs = std::filesystem;
  const char* state_home = std::getenv("XDG_STATE_HOME");  // NOLINT(concurrency-mt-unsafe)
  const char* home = std::getenv("HOME");                  // NOLINT(concurrency-mt-unsafe)
  fs::path folder;
  if (state_home != nullptr && *state_home == '/') {
    folder = state_home;
  } else if (home != nullptr && *home != '\0') {
    folder = fs::path(home) / ".local" / "state";
  } else {
    return {};
  }
  std::error_code error;
  fs::create_directories(folder / "quire", error);
  if (error) return {};
  return folder / "quire" / "chat_history";
}

}  // namespace quire
