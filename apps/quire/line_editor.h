// A line of input from a person at a terminal: editing, history, pastes of several lines.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"

namespace quire {

// One at a time, on a terminal, inside an InterruptScope.
class LineEditor {
 public:
  // `history_file` is read now and written after each line, readable by its owner only; empty:
  // no file.
  static Result<std::unique_ptr<LineEditor>> Create(const std::string& history_file);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor();

  // The next line without its end; nullopt at the end of input. Line feeds of a paste stay in the
  // line. kCancelled without a message on Ctrl-C at an empty line; at another one it is emptied.
  Result<std::optional<std::string>> ReadLine(const std::string& prompt);

 private:
  struct State;
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// $XDG_STATE_HOME/quire/chat_history, its folders made; empty where that fails.
std::string ChatHistoryFile();

}  // namespace quire
