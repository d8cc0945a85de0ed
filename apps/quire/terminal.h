// What the program knows of the terminal, and the one line it keeps rewriting there.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

bool IsTerminal(int fd);

// Columns of the terminal on `fd`, 80 where there is none.
int TerminalWidth(int fd);

// Whether to write colours to `fd`: a terminal that is not dumb, and no NO_COLOR in the
// environment.
bool WantsColor(int fd);

// The text with control bytes but line feeds and tabs, and bytes that are no UTF-8, made visible,
// so that a model's output cannot move the cursor or rename the window.
std::string ForTerminal(std::string_view text);

// A line on standard error that is rewritten in place, at most ten times a second; nothing at all
// where standard error is no terminal. One thread.
class ProgressLine {
 public:
  // Stays silent for the first `delay`.
  explicit ProgressLine(std::chrono::milliseconds delay = std::chrono::milliseconds(0));
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();  // clears the line

  // Whether a call of Show() would be seen now; saves making the text.
  bool is_due() const;
  void Show(std::string_view text);
  void Clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// "12.3": a number with so many decimals.
std::string Fixed(double value, int decimals);

// "1 token", "2 tokens"
std::string Plural(std::int64_t count, std::string_view thing);

// "loading [#####.....]  52%  64.0 MB"
std::string ProgressBar(std::string_view label, double fraction, std::string_view detail);

}  // namespace quire
