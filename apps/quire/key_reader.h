// Characters from a terminal, one at a time, with the line ends of a paste told apart from Enter.
#pragma once

#include <deque>
#include <optional>
#include <string_view>

namespace quire {

// How line feeds and tabs of a paste come out, so that a paste of several lines stays one line.
inline constexpr wchar_t kPastedLineFeed = L'\u2424';
inline constexpr wchar_t kPastedTab = L'\u2409';

// What makes a terminal mark its pastes, and stop that.
inline constexpr std::string_view kMarkPastes = "\x1b[?2004h";
inline constexpr std::string_view kMarkNoPastes = "\x1b[?2004l";

// Reads UTF-8 from a descriptor in raw mode. One thread, inside an InterruptScope.
class KeyReader {
 public:
  explicit KeyReader(int fd) : fd_(fd) {}

  // A line begins. What was typed before this went through the terminal's line mode, in which
  // Ctrl-D leaves a NUL: until no byte is waiting, a NUL is read as Ctrl-D.
  void BeginLine() { is_typed_ahead_ = true; }

  // The next character; U+FFFD for bytes that are no UTF-8. nullopt at the end of input and on
  // Ctrl-C.
  std::optional<wchar_t> Next();

  // Whether Next() gave nothing because of Ctrl-C, since the last call of this.
  bool TakeInterrupt();

 private:
  bool Fetch(int timeout_ms);
  bool StartsWith(std::string_view mark);
  bool TakePasteMark();
  std::optional<wchar_t> Pasted(unsigned char byte);
  wchar_t Finish(unsigned char lead);

  int fd_;
  std::deque<unsigned char> pending_;  // read, not given out
  bool is_typed_ahead_ = false;
  bool is_pasting_ = false;
  bool was_carriage_return_ = false;  // the last byte of the paste
  bool was_interrupted_ = false;
};

}  // namespace quire
