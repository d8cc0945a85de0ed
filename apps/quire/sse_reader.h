// Server-sent events out of bytes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace quire {

struct SseEvent {
  std::string name;  // "message" where the server gave none
  std::string data;  // its lines joined by line feeds
};

using SseSink = std::function<Status(const SseEvent& event)>;

// Bytes may come in any pieces. One thread.
class SseReader {
 public:
  static constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20;

  // Hands each event that is whole to `sink` and returns its first failure. kUnavailable for an
  // event over the limit.
  Status Feed(std::string_view bytes, const SseSink& sink);

  // The bytes are over: an event that no blank line ended counts all the same.
  Status Finish(const SseSink& sink);

 private:
  Status TakeLine(const SseSink& sink);
  Status Dispatch(const SseSink& sink);

  std::string line_;
  bool was_carriage_return_ = false;
  bool has_data_ = false;
  SseEvent event_;
};

}  // namespace quire
