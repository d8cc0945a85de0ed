// One connection's protocol: requests one after another, each with its answer, within its times.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/http.h"
#include "server/http_exchange.h"
#include "server/http_parser.h"

namespace quire {

using HttpClock = std::chrono::steady_clock;

// What the protocol runs over. Everything here happens on the connection's one thread.
class HttpTransport {
 public:
  enum class Sent { kAll, kLater, kBroken };

  virtual ~HttpTransport() = default;

  // Asks for bytes once: OnBytes or OnEnd of the connection follows, never from inside this call.
  // No effect while an earlier call has not been answered.
  virtual void Read() = 0;
  // Sends `bytes`, which stay where they are until they are sent. After kLater, OnSent or OnEnd
  // follows.
  virtual Sent Write(std::string_view bytes) = 0;
  // Tells the peer that nothing more comes.
  virtual void EndWrites() = 0;
  // Nothing is heard after it.
  virtual void Close() = 0;
};

// One answered request, for the access log and for counting.
struct HttpAccess {
  std::string_view peer;
  std::string_view method;
  std::string_view path;
  std::string_view request_id;
  int status = 0;  // 499 where the client left before the answer began
  std::int64_t num_request_bytes = 0;
  std::int64_t num_response_bytes = 0;
  std::chrono::nanoseconds duration{};
};

// What all connections of a server share; constant while they live but for the counters.
struct HttpService {
  HttpLimits limits;
  std::size_t max_send_buffer = std::size_t{1} << 20;
  std::chrono::milliseconds header_timeout{10'000};      // from a request's first byte to its head
  std::chrono::milliseconds body_timeout{30'000};        // between two pieces of a body
  std::chrono::milliseconds keep_alive_timeout{75'000};  // between two requests
  std::chrono::milliseconds write_timeout{30'000};       // while the client takes nothing
  std::chrono::milliseconds comment_interval{0};         // of a stream without news; 0: none
  std::chrono::milliseconds request_timeout{0};          // from request to whole answer; 0: none
  std::size_t max_buffered_bodies = std::size_t{512} << 20;  // of all connections together

  HttpHandler handler;
  // Header lines for every answer to `request`; may be empty.
  std::function<std::string(const HttpRequest& request)> more_headers;
  std::function<void(const HttpAccess& access)> on_answered;  // may be empty

  std::atomic<bool> is_closing = false;  // no connection stays after its answer
  std::atomic<std::int64_t> num_connections = 0;
  std::atomic<std::int64_t> num_active = 0;  // requests that are being answered
  std::atomic<std::int64_t> num_buffered_bytes = 0;
};

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpService& service, std::shared_ptr<HttpOutbox> outbox,
                 std::unique_ptr<HttpTransport> transport, std::string peer);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void Start();
  // Answers 503 and closes: the server has no room.
  void Refuse(int http_status, std::string_view message);

  void OnBytes(std::string_view bytes);
  void OnEnd();       // the peer sends nothing more, or the connection broke
  void OnSent();      // what Write kept for later is sent
  void OnProgress();  // some of it is
  void Flush();       // the exchange may have something to send

  // When OnTime must be called at the latest.
  HttpClock::time_point deadline() const;
  void OnTime(HttpClock::time_point now);

  // Closes what waits for a request; a request under way gets its answer first.
  void CloseWhenIdle();
  // Ends a request under way with an error that the client gets to see.
  void EndRequest(int http_status, std::string_view message);
  void Close();
  bool is_closed() const { return is_closed_; }

 private:
  enum class Phase { kIdle, kHead, kBody, kAnswer, kLinger };

  void Consume();
  void OnNeedsMore();
  void RefuseRequest(const HttpRefusal& refusal);
  void BeginAnswer(HttpRequest request, bool keeps_alive);
  void Dispatch(std::shared_ptr<const HttpRequest> request);
  void OnFlushed();
  void FinishAnswer();
  void Report(int status);
  void Linger();
  void Enter(Phase phase, std::chrono::milliseconds patience);
  void CountBody(std::size_t num_bytes);

  HttpService& service_;
  const std::shared_ptr<HttpOutbox> outbox_;
  const std::unique_ptr<HttpTransport> transport_;
  const std::string peer_;

  HttpParser parser_;
  std::string unread_;  // came after what is being answered
  Phase phase_ = Phase::kIdle;
  HttpClock::time_point phase_deadline_ = HttpClock::time_point::max();
  HttpClock::time_point write_deadline_ = HttpClock::time_point::max();
  HttpClock::time_point comment_time_ = HttpClock::time_point::max();
  bool is_closed_ = false;
  bool is_writing_ = false;
  bool is_consuming_ = false;
  bool is_counted_active_ = false;
  std::size_t num_counted_bytes_ = 0;  // of num_buffered_bytes

  std::string sending_;
  HttpExchange::Taken taken_;  // of what `sending_` holds
  std::shared_ptr<HttpExchange> exchange_;
  std::shared_ptr<const HttpRequest> request_;
  HttpClock::time_point began_;
};

}  // namespace quire
