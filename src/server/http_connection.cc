#include "server/http_connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "server/api_error.h"
#include "server/http_body.h"
#include "server/request_id.h"

namespace quire {

namespace {

constexpr std::size_t kMaxUnread = std::size_t{64} << 10;   // read ahead of the request answered
constexpr std::size_t kKeptBuffer = std::size_t{16} << 10;  // larger ones are given back
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

HttpConnection::HttpConnection(HttpService& service, std::shared_ptr<HttpOutbox> outbox,
                               std::unique_ptr<HttpTransport> transport, std::string peer)
    : service_(service),
      outbox_(std::move(outbox)),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      parser_(service.limits) {
  service_.num_connections.fetch_add(1, std::memory_order_relaxed);
}

HttpConnection::~HttpConnection() {
  Close();
  service_.num_connections.fetch_sub(1, std::memory_order_relaxed);
}

void HttpConnection::Enter(Phase phase, std::chrono::milliseconds patience) {
  phase_ = phase;
  phase_deadline_ =
      patience.count() > 0 ? HttpClock::now() + patience : HttpClock::time_point::max();
}

void HttpConnection::Start() {
  Enter(Phase::kIdle, service_.header_timeout);  // for the first request
  transport_->Read();
}

void HttpConnection::Refuse(int http_status, std::string_view message) {
  RefuseRequest({.status = http_status, .message = std::string(message)});
}

// Reading

void HttpConnection::OnBytes(std::string_view bytes) {
  if (is_closed_) return;
  if (phase_ == Phase::kLinger) return transport_->Read();
  unread_ += bytes;
  if (phase_ == Phase::kAnswer) {
    if (unread_.size() < kMaxUnread) transport_->Read();
    return;
  }
  Consume();
}

// Answers what `unread_` holds, one request after another, until one has to wait.
void HttpConnection::Consume() {
  if (is_consuming_) return;
  is_consuming_ = true;
  while (!is_closed_ && exchange_ == nullptr && phase_ != Phase::kLinger && !unread_.empty()) {
    std::string_view rest = unread_;
    const HttpParser::Progress progress = parser_.Feed(rest);
    unread_.erase(0, unread_.size() - rest.size());
    switch (progress) {
      case HttpParser::Progress::kNeedsMore:
        OnNeedsMore();
        break;
      case HttpParser::Progress::kComplete:
        BeginAnswer(parser_.Take(), parser_.keeps_alive());
        break;
      case HttpParser::Progress::kRefused:
        unread_.clear();
        RefuseRequest(parser_.refusal());
        break;
    }
  }
  is_consuming_ = false;
  if (unread_.empty()) unread_ = std::string();
  if (!is_closed_ && unread_.size() < kMaxUnread) transport_->Read();
}

void HttpConnection::OnNeedsMore() {
  if (parser_.has_head()) {
    CountBody(parser_.num_body_bytes());
    if (is_closed_ || phase_ == Phase::kLinger) return;
    Enter(Phase::kBody, service_.body_timeout);
    if (parser_.TakeExpectsContinue() && !is_writing_) {
      sending_ = kContinue;
      taken_ = {};
      OnFlushed();
    }
  } else if (parser_.has_begun() && phase_ != Phase::kHead) {
    Enter(Phase::kHead, service_.header_timeout);
  }
}

void HttpConnection::CountBody(std::size_t num_bytes) {
  const auto more =
      static_cast<std::int64_t>(num_bytes) - static_cast<std::int64_t>(num_counted_bytes_);
  num_counted_bytes_ = num_bytes;
  const std::int64_t total =
      service_.num_buffered_bytes.fetch_add(more, std::memory_order_relaxed) + more;
  if (more > 0 && total > static_cast<std::int64_t>(service_.max_buffered_bodies)) {
    RefuseRequest({.status = 503, .message = "too many request bodies are being read"});
  }
}

// Answering

void HttpConnection::RefuseRequest(const HttpRefusal& refusal) {
  BeginAnswer({.request_id = NewRequestId()}, false);
  exchange_->Send(RefusalFor(parser_.path(), refusal.status, refusal.message));
  Flush();
}

void HttpConnection::BeginAnswer(HttpRequest request, bool keeps_alive) {
  const bool is_refused = request.method.empty();
  if (!is_refused) CountBody(0);
  request.request_id = SoundRequestId(request.header("x-request-id"));
  HttpRefusal refusal;
  if (!is_refused) refusal = UnpackBody(service_.limits.max_body_bytes, request);
  if (service_.is_closing.load(std::memory_order_relaxed)) keeps_alive = false;
  began_ = HttpClock::now();
  request_ = std::make_shared<const HttpRequest>(std::move(request));
  exchange_ = std::make_shared<HttpExchange>(
      HttpExchange::Settings{
          .is_head = request_->method == "HEAD",
          .is_http_1_0 = parser_.is_http_1_0(),
          .keeps_alive = keeps_alive,
          .more_headers = service_.more_headers ? service_.more_headers(*request_) : "",
          .max_send_buffer = service_.max_send_buffer,
          .error_shape = ErrorShapeOf(request_->path)},
      outbox_, weak_from_this());
  Enter(Phase::kAnswer, service_.request_timeout);
  is_counted_active_ = true;
  service_.num_active.fetch_add(1, std::memory_order_relaxed);
  if (is_refused) return;
  if (refusal.message.empty()) {
    Dispatch(request_);
  } else {
    exchange_->Send(RefusalFor(request_->path, refusal.status, refusal.message));
  }
  Flush();
}

void HttpConnection::Dispatch(std::shared_ptr<const HttpRequest> request) {
  const std::shared_ptr<HttpReply> reply = MakeReply(exchange_);
  try {
    service_.handler(std::move(request), reply);
  } catch (const std::exception& error) {
    QUIRE_LOG(kError) << "answering " << Printable(request_->path) << ": " << error.what();
    exchange_->Expire(500, "the server failed to answer");
  }
}

// Sends what the exchange has, until the transport or the exchange has to be waited for.
void HttpConnection::Flush() {
  if (is_closed_ || is_writing_ || exchange_ == nullptr) return;
  taken_ = exchange_->Take(sending_);
  OnFlushed();
}

void HttpConnection::OnFlushed() {
  if (!sending_.empty()) {
    switch (transport_->Write(sending_)) {
      case HttpTransport::Sent::kAll:
        break;
      case HttpTransport::Sent::kLater:
        is_writing_ = true;
        write_deadline_ = HttpClock::now() + service_.write_timeout;
        return;
      case HttpTransport::Sent::kBroken:
        return OnEnd();
    }
  }
  OnSent();
}

void HttpConnection::OnSent() {
  if (is_closed_) return;
  const bool was_writing = std::exchange(is_writing_, false);
  const bool has_sent = !sending_.empty();
  write_deadline_ = HttpClock::time_point::max();
  if (sending_.capacity() > kKeptBuffer) {
    sending_ = std::string();
  } else {
    sending_.clear();
  }
  if (taken_.is_last) return FinishAnswer();
  if (has_sent && service_.comment_interval.count() > 0 && exchange_ != nullptr &&
      exchange_->is_event_stream()) {
    comment_time_ = HttpClock::now() + service_.comment_interval;
  }
  if (was_writing) Flush();  // what came meanwhile
}

void HttpConnection::OnProgress() {
  if (is_writing_) write_deadline_ = HttpClock::now() + service_.write_timeout;
}

void HttpConnection::FinishAnswer() {
  Report(exchange_->status());
  const bool must_close = taken_.must_close;
  comment_time_ = HttpClock::time_point::max();
  taken_ = {};
  exchange_.reset();
  request_.reset();
  sending_ = std::string();
  if (must_close) return Linger();
  if (service_.is_closing.load(std::memory_order_relaxed) && unread_.empty()) return Close();
  Enter(Phase::kIdle, service_.keep_alive_timeout);
  Consume();
}

void HttpConnection::Report(int status) {
  if (std::exchange(is_counted_active_, false)) {
    service_.num_active.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!service_.on_answered) return;
  service_.on_answered({.peer = peer_,
                        .method = request_->method,
                        .path = request_->path,
                        .request_id = request_->request_id,
                        .status = status == 0 ? 499 : status,
                        .num_request_bytes = static_cast<std::int64_t>(request_->body.size()),
                        .num_response_bytes = exchange_->num_body_bytes(),
                        .duration = HttpClock::now() - began_});
}

// Closing

// Lets the client read the answer: bytes of its own that are still under way would make the
// system reset the connection if it were closed at once.
void HttpConnection::Linger() {
  Enter(Phase::kLinger, kLingerTime);
  unread_ = std::string();
  transport_->EndWrites();
  transport_->Read();
}

void HttpConnection::OnEnd() {
  if (is_closed_) return;
  Close();
}

HttpClock::time_point HttpConnection::deadline() const {
  return is_closed_ ? HttpClock::time_point::max()
                    : std::min({phase_deadline_, write_deadline_, comment_time_});
}

void HttpConnection::OnTime(HttpClock::time_point now) {
  if (is_closed_ || deadline() > now) return;
  if (write_deadline_ <= now) return Close();
  if (comment_time_ <= now) {
    comment_time_ = HttpClock::time_point::max();  // until it is sent
    if (exchange_ != nullptr && !is_writing_) exchange_->WriteComment();
    if (phase_deadline_ > now) return;
  }
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kLinger:
      return Close();
    case Phase::kHead:
      return RefuseRequest({.status = 408, .message = "the headers took too long to come"});
    case Phase::kBody:
      return RefuseRequest({.status = 408, .message = "the body took too long to come"});
    case Phase::kAnswer:
      phase_deadline_ = HttpClock::time_point::max();
      return EndRequest(504, "the request took longer than the server allows");
  }
}

void HttpConnection::EndRequest(int http_status, std::string_view message) {
  if (exchange_ == nullptr) return;
  const std::shared_ptr<HttpExchange> exchange = exchange_;
  exchange->Expire(http_status, message);
  Flush();
}

void HttpConnection::CloseWhenIdle() {
  if (phase_ == Phase::kIdle) Close();
}

void HttpConnection::Close() {
  if (std::exchange(is_closed_, true)) return;
  CountBody(0);
  transport_->Close();
  if (const std::shared_ptr<HttpExchange> exchange = exchange_) {
    exchange->LeaveClient();
    Report(exchange->status());
    exchange_.reset();
  }
}

}  // namespace quire
