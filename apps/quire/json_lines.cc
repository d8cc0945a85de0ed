#include "apps/quire/json_lines.h"

#include <string>

#include <unistd.h>

#include "apps/quire/io.h"
#include "base/strings.h"

namespace quire {

namespace {

Result<Json> AnswerLine(const Json& line,
                        const std::function<Result<Json>(const Json& line)>& answer) {
  if (!line.is_object()) {
    return InvalidArgument(StrCat("must be a JSON object, got ", line.kind()));
  }
  return answer(line);
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Result<Json> ParseJsonLine(std::string_view text, std::int64_t number) {
  Result<Json> json = ParseJson(text);
  // A fault has its place before it, and here that is always of the first line.
  constexpr std::string_view kFirstLine = "line 1, ";
  if (json.ok() || !json.status().message().starts_with(kFirstLine)) return json;
  return InvalidArgument(
      StrCat("line ", number, ", ", json.status().message().substr(kFirstLine.size())));
}

Status AnswerJsonLines(const std::function<Result<Json>(const Json& line)>& answer) {
  LineReader reader(STDIN_FILENO);
  Writer out(STDOUT_FILENO, "standard output");
  Status first_failure;
  std::int64_t num_failures = 0;
  for (std::int64_t number = 1;; ++number) {
    if (!reader.has_line()) QUIRE_RETURN_IF_ERROR(out.Flush());
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> text, reader.Next());
    if (!text) break;
    if (IsBlank(*text)) continue;
    const Result<Json> line = ParseJsonLine(*text, number);
    Result<Json> answered = line.ok() ? AnswerLine(*line, answer) : line.status();
    if (!answered.ok()) {
      const Status& failure = answered.status();
      if (num_failures++ == 0) {
        first_failure = line.ok() ? failure.With(StrCat("line ", number)) : failure;
      }
      answered = Json(JsonObject{{"error", ToValidUtf8(answered.status().message())}});
    }
    QUIRE_RETURN_IF_ERROR(out.Write(answered->Dump()));
    QUIRE_RETURN_IF_ERROR(out.Write("\n"));
  }
  QUIRE_RETURN_IF_ERROR(out.Flush());
  if (num_failures > 1) {
    return first_failure.With(StrCat(num_failures, " lines could not be used; the first"));
  }
  return first_failure;
}

std::string ToValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int length = Utf8SequenceLength(text);
    const auto count = static_cast<std::size_t>(length == 0 ? 1 : length);
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, count);
    text.remove_prefix(count);
  }
  return out;
}

}  // namespace quire
