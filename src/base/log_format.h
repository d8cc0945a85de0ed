// How log lines look, and lines with numbers for programs that read them.
#pragma once

#include <span>
#include <string_view>

#include "base/log.h"

namespace quire {

// kText, as at start: "I 11-29 23:00:00 core.cc:12] message". kJson: one object a line with
// `time`, `level`, `source`, `message` and the line's fields.
enum class LogFormat { kText, kJson };
void SetLogFormat(LogFormat format);  // any thread

// A number by a plain name. Only JSON lines show it.
struct LogField {
  std::string_view name;
  double value = 0;
};

// Writes one line; `place` says where in the program it comes from. Any thread.
void WriteLog(LogLevel level, std::string_view place, std::string_view message,
              std::span<const LogField> fields);

}  // namespace quire
