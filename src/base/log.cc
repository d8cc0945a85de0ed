#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace quire {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

char LevelLetter(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return 'D';
    case LogLevel::kInfo:
      return 'I';
    case LogLevel::kWarning:
      return 'W';
    case LogLevel::kError:
      return 'E';
  }
  return '?';
}

const char* BaseName(const char* path) {
  const char* base = path;
  for (const char* p = path; *p != '\0'; ++p) {
    if (*p == '/') base = p + 1;
  }
  return base;
}

// One write call, so that lines of several threads do not mix.
void WriteLine(std::string line) {
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void SetLogLevel(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }
LogLevel GetLogLevel() { return g_level.load(std::memory_order_relaxed); }

LogLine::LogLine(LogLevel level, const char* file, int line) : level_(level) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%m-%d %H:%M:%S", &local);
  text_ << LevelLetter(level_) << ' ' << stamp << ' ' << BaseName(file) << ':' << line << "] ";
}

LogLine::~LogLine() { WriteLine(text_.str()); }

CheckFailure::CheckFailure(const char* condition, const char* file, int line) {
  text_ << "F " << BaseName(file) << ':' << line << "] check failed: " << condition << ' ';
}

CheckFailure::~CheckFailure() {
  WriteLine(text_.str());
  std::abort();
}

}  // namespace quire
