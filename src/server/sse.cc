#include "server/sse.h"

#include <utility>

#include "base/strings.h"
#include "server/api_error.h"

namespace quire {

SseStream::SseStream(std::shared_ptr<HttpReply> reply, std::vector<HttpHeader> headers)
    : reply_(std::move(reply)), headers_(std::move(headers)) {}

bool SseStream::Write(std::string_view events) {
  if (has_begun_) return reply_->Write(events);
  has_begun_ = true;
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.body = events;
  head.headers = std::move(headers_);
  head.headers.push_back({.name = "Cache-Control", .value = "no-cache"});
  // Proxies that gather answers would take the stream's point away.
  head.headers.push_back({.name = "X-Accel-Buffering", .value = "no"});
  reply_->BeginStream(std::move(head));
  return true;
}

void SseStream::End() { reply_->EndStream(); }

void SseStream::Finish(std::string events) {
  events += "data: [DONE]\n\n";
  if (Write(events)) End();
}

void SseStream::Fail(const Status& error) {
  if (!has_begun_) return reply_->Send(ErrorResponse(error));
  const int http_status = HttpStatusOf(error.code());
  if (Write(ErrorEventsIn(ErrorShape::kOpenai, http_status, error.message()))) End();
}

}  // namespace quire
