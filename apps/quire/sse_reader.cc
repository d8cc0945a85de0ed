#include "apps/quire/sse_reader.h"

#include <utility>

#include "base/strings.h"

namespace quire {

Status SseReader::Feed(std::string_view bytes, const SseSink& sink) {
  for (const char c : bytes) {
    const bool ends_pair = c == '\n' && was_carriage_return_;
    was_carriage_return_ = c == '\r';
    if (ends_pair) continue;
    if (c == '\n' || c == '\r') {
      QUIRE_RETURN_IF_ERROR(TakeLine(sink));
      continue;
    }
    if (line_.size() + event_.data.size() >= kMaxEventBytes) {
      return Status(Code::kUnavailable,
                    StrCat("an event of the stream is over ", kMaxEventBytes, " bytes"));
    }
    line_ += c;
  }
  return {};
}

Status SseReader::Finish(const SseSink& sink) {
  if (!line_.empty()) QUIRE_RETURN_IF_ERROR(TakeLine(sink));
  return Dispatch(sink);
}

Status SseReader::TakeLine(const SseSink& sink) {
  const std::string line = std::exchange(line_, std::string());
  if (line.empty()) return Dispatch(sink);
  const std::size_t colon = line.find(':');
  const std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value;
  if (colon != std::string::npos) value = std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  }
  return {};  // comments and other fields are of no use here
}

Status SseReader::Dispatch(const SseSink& sink) {
  SseEvent event = std::exchange(event_, SseEvent());
  if (!std::exchange(has_data_, false)) return {};
  if (event.name.empty()) event.name = "message";
  return sink(event);
}

}  // namespace quire
