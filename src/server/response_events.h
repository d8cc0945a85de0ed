// The events of a response that runs in the background: for who reads them now, and who comes
// later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "server/http.h"
#include "server/sse.h"

namespace quire {

// Any thread. Events are numbered from 0 in the order of Append.
class ResponseEvents {
 public:
  // Adds events, each with an empty line at its end, and sends them to the readers.
  void Append(std::string_view events) QUIRE_EXCLUDES(mutex_);
  // No more events come; every reader's stream ends.
  void End() QUIRE_EXCLUDES(mutex_);

  // Sends the events after number `starting_after` (-1: all) that came and those to come.
  // kInvalidArgument where they were too many to be kept; the reply is then still to be answered.
  Status Read(std::shared_ptr<HttpReply> reply, std::vector<HttpHeader> headers,
              std::int64_t starting_after) QUIRE_EXCLUDES(mutex_);

  std::size_t num_bytes() const QUIRE_EXCLUDES(mutex_);
  std::int64_t num_events() const QUIRE_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;  // that are kept

  mutable Mutex mutex_;
  std::vector<std::string> events_ QUIRE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<SseStream>> readers_ QUIRE_GUARDED_BY(mutex_);
  std::size_t num_bytes_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::int64_t num_events_ QUIRE_GUARDED_BY(mutex_) = 0;
  bool has_ended_ QUIRE_GUARDED_BY(mutex_) = false;
};

}  // namespace quire
