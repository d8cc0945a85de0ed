// One request and its answer, between the thread of its connection and whoever answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "server/api_error.h"
#include "server/http.h"

namespace quire {

class HttpConnection;
class HttpExchange;

// Exchanges of one I/O thread that have something to send. Any thread puts in, the I/O thread
// takes out.
class HttpOutbox {
 public:
  // `wake` makes the I/O thread call TakeAll soon; it is called when the outbox was empty.
  explicit HttpOutbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Put(std::shared_ptr<HttpExchange> exchange) QUIRE_EXCLUDES(mutex_);
  // Gives what is inside by way of `out`, whose memory is used again.
  void TakeAll(std::vector<std::shared_ptr<HttpExchange>>& out) QUIRE_EXCLUDES(mutex_);
  // Nothing goes in any more; `wake` is not called after this.
  void Close() QUIRE_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::function<void()> wake_ QUIRE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<HttpExchange>> waiting_ QUIRE_GUARDED_BY(mutex_);
};

class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  struct Settings {
    bool is_head = false;  // of a HEAD request: the answer has no body
    bool is_http_1_0 = false;
    bool keeps_alive = true;
    std::string more_headers;         // whole lines, of every answer
    std::size_t max_send_buffer = 0;  // bytes of a stream that may wait for the client
    ErrorShape error_shape = ErrorShape::kOpenai;
  };

  HttpExchange(Settings settings, std::shared_ptr<HttpOutbox> outbox,
               std::weak_ptr<HttpConnection> connection);

  // The answering side: what HttpReply promises. Any thread.
  void Send(const HttpResponse& response) QUIRE_EXCLUDES(mutex_);
  void BeginStream(const HttpResponse& head) QUIRE_EXCLUDES(mutex_);
  bool Write(std::string_view bytes) QUIRE_EXCLUDES(mutex_);
  void EndStream() QUIRE_EXCLUDES(mutex_);
  void OnClientGone(std::function<void()> gone) QUIRE_EXCLUDES(mutex_);
  // The reply was dropped; ends what has not ended.
  void Abandon() QUIRE_EXCLUDES(mutex_);

  // The connection's side: its thread alone.

  struct Taken {
    bool is_last = false;     // the answer is whole with these bytes
    bool must_close = false;  // and nothing can follow it
  };
  // Appends what waits to be sent. Called when all that was taken before has been sent.
  Taken Take(std::string& out) QUIRE_EXCLUDES(mutex_);
  // Whether what is being sent is a stream of events that goes on.
  bool is_event_stream() const QUIRE_EXCLUDES(mutex_);
  // Puts a comment into such a stream, which readers pass over.
  void WriteComment() QUIRE_EXCLUDES(mutex_);
  // The client has left: nothing more is taken or kept.
  void LeaveClient() QUIRE_EXCLUDES(mutex_);
  // Ends the answer with an error, in its headers or as an event of its stream, and tells the
  // answering side that it may stop.
  void Expire(int http_status, std::string_view message) QUIRE_EXCLUDES(mutex_);

  const std::weak_ptr<HttpConnection>& connection() const { return connection_; }
  int status() const QUIRE_EXCLUDES(mutex_);  // of the answer; 0 before it has begun
  std::int64_t num_body_bytes() const QUIRE_EXCLUDES(mutex_);

 private:
  enum class State { kWaiting, kStreaming, kEnded };

  void AppendAnswer(const HttpResponse& response) QUIRE_REQUIRES(mutex_);
  void AppendStreamHead(const HttpResponse& head) QUIRE_REQUIRES(mutex_);
  void AppendBody(std::string_view bytes) QUIRE_REQUIRES(mutex_);
  void EndWithError(int http_status, std::string_view message) QUIRE_REQUIRES(mutex_);
  void EndBody() QUIRE_REQUIRES(mutex_);
  // Whether the I/O thread is to be told; true once until Take.
  bool WantsWake() QUIRE_REQUIRES(mutex_);

  const Settings settings_;
  const std::shared_ptr<HttpOutbox> outbox_;
  const std::weak_ptr<HttpConnection> connection_;

  mutable Mutex mutex_;
  State state_ QUIRE_GUARDED_BY(mutex_) = State::kWaiting;
  bool is_gone_ QUIRE_GUARDED_BY(mutex_) = false;
  bool is_awaited_ QUIRE_GUARDED_BY(mutex_) = false;  // the outbox holds this exchange
  bool must_close_ QUIRE_GUARDED_BY(mutex_);
  bool is_event_stream_ QUIRE_GUARDED_BY(mutex_) = false;
  bool is_chunked_ QUIRE_GUARDED_BY(mutex_) = false;
  int status_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::int64_t num_body_bytes_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::size_t num_in_flight_ QUIRE_GUARDED_BY(mutex_) = 0;  // taken and perhaps not sent
  std::string pending_ QUIRE_GUARDED_BY(mutex_);
  std::function<void()> on_gone_ QUIRE_GUARDED_BY(mutex_);
};

// The reply that a handler gets.
std::shared_ptr<HttpReply> MakeReply(std::shared_ptr<HttpExchange> exchange);

}  // namespace quire
