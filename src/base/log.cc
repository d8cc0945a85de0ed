#include "base/log.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "base/log_format.h"

namespace quire {
namespace {

constexpr char kPlaceEnd = '\0';

std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<LogFormat> g_format{LogFormat::kText};

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

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

std::string Now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[64];
  const std::size_t size = std::strftime(stamp, sizeof stamp, format, &local);
  return {stamp, size};
}

// One member of a JSON object; the first one opens it. Bytes that JSON cannot hold are escaped.
void AddMember(std::string_view name, std::string_view value, std::string& out) {
  out += out.empty() ? '{' : ',';
  out += '"';
  out += name;
  out += "\":\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
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

void SetLogFormat(LogFormat format) { g_format.store(format, std::memory_order_relaxed); }

void WriteLog(LogLevel level, std::string_view place, std::string_view message,
              std::span<const LogField> fields) {
  if (level < GetLogLevel()) return;
  std::string line;
  if (g_format.load(std::memory_order_relaxed) == LogFormat::kText) {
    line += LevelLetter(level);
    line += Now(" %m-%d %H:%M:%S ");
    line += place;
    line += "] ";
    line += message;
    return WriteLine(std::move(line));
  }
  AddMember("time", Now("%Y-%m-%dT%H:%M:%S%z"), line);
  AddMember("level", LevelName(level), line);
  AddMember("source", place, line);
  AddMember("message", message, line);
  for (const LogField& field : fields) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", std::isfinite(field.value) ? field.value : 0.0);
    line += ",\"";
    line += field.name;
    line += "\":";
    line += number;
  }
  line += '}';
  WriteLine(std::move(line));
}

// The place stands before the message until the line is written.
LogLine::LogLine(LogLevel level, const char* file, int line) : level_(level) {
  text_ << BaseName(file) << ':' << line << kPlaceEnd;
}

LogLine::~LogLine() {
  const std::string text = text_.str();
  const std::size_t place_end = text.find(kPlaceEnd);
  WriteLog(level_, std::string_view(text).substr(0, place_end),
           std::string_view(text).substr(place_end + 1), {});
}

CheckFailure::CheckFailure(const char* condition, const char* file, int line) {
  text_ << "F " << BaseName(file) << ':' << line << "] check failed: " << condition << ' ';
}

CheckFailure::~CheckFailure() {
  WriteLine(text_.str());
  std::abort();
}

}  // namespace quire
