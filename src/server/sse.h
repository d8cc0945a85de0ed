// A stream of server-sent events.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/http.h"

namespace quire {

// One thread at a time. The head goes out with the first events, so that until then the request
// can still be refused.
class SseStream {
 public:
  SseStream(std::shared_ptr<HttpReply> reply, std::vector<HttpHeader> headers);

  // Sends whole events. False when the client is gone or too slow: the stream is over.
  bool Write(std::string_view events);
  void End();
  // Sends the last events with the mark by which OpenAI's streams end, and ends.
  void Finish(std::string events);
  // Refuses the request in OpenAI's shape; where events have gone out, as the last of them.
  void Fail(const Status& error);

  bool has_begun() const { return has_begun_; }

 private:
  std::shared_ptr<HttpReply> reply_;
  std::vector<HttpHeader> headers_;
  bool has_begun_ = false;
};

}  // namespace quire
