#include "server/response_events.h"

#include <algorithm>
#include <utility>

namespace quire {

void ResponseEvents::Append(std::string_view events) {
  MutexLock lock(mutex_);
  std::erase_if(readers_, [&](const auto& reader) { return !reader->Write(events); });
  constexpr std::string_view kEnd = "\n\n";
  while (!events.empty()) {
    const std::size_t size = std::min(events.find(kEnd), events.size() - kEnd.size()) + kEnd.size();
    ++num_events_;
    num_bytes_ += size;
    if (num_bytes_ <= kMaxBytes) {
      events_.emplace_back(events.substr(0, size));
    } else {
      events_.clear();
    }
    events.remove_prefix(size);
  }
}

void ResponseEvents::End() {
  MutexLock lock(mutex_);
  has_ended_ = true;
  for (const auto& reader : readers_) reader->End();
  readers_.clear();
}

Status ResponseEvents::Read(std::shared_ptr<HttpReply> reply, std::vector<HttpHeader> headers,
                            std::int64_t starting_after) {
  MutexLock lock(mutex_);
  if (num_bytes_ > kMaxBytes) {
    return InvalidArgument("stream: the events of this response were too many to be kept");
  }
  auto reader = std::make_unique<SseStream>(std::move(reply), std::move(headers));
  std::string backlog;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (static_cast<std::int64_t>(i) > starting_after) backlog += events_[i];
  }
  if (!reader->Write(backlog)) return {};
  if (has_ended_) {
    reader->End();
  } else {
    readers_.push_back(std::move(reader));
  }
  return {};
}

std::size_t ResponseEvents::num_bytes() const {
  MutexLock lock(mutex_);
  return std::min(num_bytes_, kMaxBytes);
}

std::int64_t ResponseEvents::num_events() const {
  MutexLock lock(mutex_);
  return num_events_;
}

}  // namespace quire
