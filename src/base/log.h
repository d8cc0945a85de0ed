// Log lines on standard error, and checks that end the process on a bug of ours.
#pragma once

#include <sstream>
#include <string_view>

namespace quire {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Lines below `level` are dropped; kInfo at start. Any thread.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

// One line, written whole when it is destroyed.
class LogLine {
 public:
  LogLine(LogLevel level, const char* file, int line);
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine();
  std::ostream& stream() { return text_; }

 private:
  LogLevel level_;
  std::ostringstream text_;
};

// Says which condition failed and where, and aborts.
class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

// Makes both arms of the ternary in the macros void.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace quire

// QUIRE_LOG(kInfo) << "…"; the stream's arguments are evaluated only when the line is wanted.
#define QUIRE_LOG(level)                            \
  ::quire::LogLevel::level < ::quire::GetLogLevel() \
      ? (void)0                                     \
      : ::quire::Voidify() &                        \
            ::quire::LogLine(::quire::LogLevel::level, __FILE__, __LINE__).stream()

// For bugs of ours alone: never reachable from a request, a config or a file.
#define QUIRE_CHECK(condition)                      \
  __builtin_expect(static_cast<bool>(condition), 1) \
      ? (void)0                                     \
      : ::quire::Voidify() & ::quire::CheckFailure(#condition, __FILE__, __LINE__).stream()

#if defined(QUIRE_DCHECK_ENABLED)
#define QUIRE_DCHECK(condition) QUIRE_CHECK(condition)
#else
#define QUIRE_DCHECK(condition) QUIRE_CHECK(true || (condition))
#endif
