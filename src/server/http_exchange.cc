#include "server/http_exchange.h"

#include <utility>

#include "base/strings.h"
#include "server/http_wire.h"

namespace quire {

void HttpOutbox::Put(std::shared_ptr<HttpExchange> exchange) {
  MutexLock lock(mutex_);
  if (!wake_) return;
  const bool was_empty = waiting_.empty();
  waiting_.push_back(std::move(exchange));
  if (was_empty) wake_();
}

void HttpOutbox::TakeAll(std::vector<std::shared_ptr<HttpExchange>>& out) {
  out.clear();
  MutexLock lock(mutex_);
  out.swap(waiting_);
}

void HttpOutbox::Close() {
  std::vector<std::shared_ptr<HttpExchange>> dropped;
  MutexLock lock(mutex_);
  wake_ = nullptr;
  dropped.swap(waiting_);
}

HttpExchange::HttpExchange(Settings settings, std::shared_ptr<HttpOutbox> outbox,
                           std::weak_ptr<HttpConnection> connection)
    : settings_(std::move(settings)),
      outbox_(std::move(outbox)),
      connection_(std::move(connection)),
      must_close_(!settings_.keeps_alive) {}

bool HttpExchange::WantsWake() { return !is_gone_ && !std::exchange(is_awaited_, true); }

void HttpExchange::AppendAnswer(const HttpResponse& response) {
  status_ = response.status;
  AppendHead(response,
             {.keeps_alive = !must_close_,
              .is_http_1_0 = settings_.is_http_1_0,
              .more_headers = settings_.more_headers},
             pending_);
  if (!settings_.is_head) {
    pending_ += response.body;
    num_body_bytes_ += static_cast<std::int64_t>(response.body.size());
  }
  state_ = State::kEnded;
}

void HttpExchange::AppendStreamHead(const HttpResponse& head) {
  status_ = head.status;
  is_chunked_ = !settings_.is_http_1_0;
  if (!is_chunked_) must_close_ = true;
  is_event_stream_ = head.content_type.starts_with("text/event-stream");
  AppendHead(head,
             {.body = is_chunked_ ? HttpFraming::Body::kChunked : HttpFraming::Body::kUntilClose,
              .keeps_alive = !must_close_,
              .is_http_1_0 = settings_.is_http_1_0,
              .more_headers = settings_.more_headers},
             pending_);
  state_ = State::kStreaming;
  if (settings_.is_head) {
    state_ = State::kEnded;
  } else {
    AppendBody(head.body);
  }
}

void HttpExchange::AppendBody(std::string_view bytes) {
  num_body_bytes_ += static_cast<std::int64_t>(bytes.size());
  if (is_chunked_) {
    AppendChunk(bytes, pending_);
  } else {
    pending_ += bytes;
  }
}

void HttpExchange::EndBody() {
  if (is_chunked_) pending_ += kLastChunk;
  state_ = State::kEnded;
}

// An answer that has begun and is no event stream can only be cut off.
void HttpExchange::EndWithError(int http_status, std::string_view message) {
  must_close_ = true;
  if (state_ == State::kWaiting) {
    AppendAnswer(RefusalIn(settings_.error_shape, http_status, message));
  } else if (is_event_stream_) {
    AppendBody(ErrorEventsIn(settings_.error_shape, http_status, message));
    EndBody();
  } else {
    state_ = State::kEnded;
  }
}

void HttpExchange::Send(const HttpResponse& response) {
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    if (is_gone_ || state_ != State::kWaiting) return;
    AppendAnswer(response);
    wakes = WantsWake();
  }
  if (wakes) outbox_->Put(shared_from_this());
}

void HttpExchange::BeginStream(const HttpResponse& head) {
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    if (is_gone_ || state_ != State::kWaiting) return;
    AppendStreamHead(head);
    wakes = WantsWake();
  }
  if (wakes) outbox_->Put(shared_from_this());
}

bool HttpExchange::Write(std::string_view bytes) {
  bool wakes = false;
  bool goes_on = true;
  {
    MutexLock lock(mutex_);
    if (is_gone_ || state_ != State::kStreaming) return false;
    if (pending_.size() + num_in_flight_ + bytes.size() > settings_.max_send_buffer) {
      EndWithError(503, "the client reads too slowly: its stream is ended");
      goes_on = false;
    } else {
      AppendBody(bytes);
    }
    wakes = WantsWake();
  }
  if (wakes) outbox_->Put(shared_from_this());
  return goes_on;
}

void HttpExchange::EndStream() {
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    on_gone_ = nullptr;
    if (is_gone_ || state_ != State::kStreaming) return;
    EndBody();
    wakes = WantsWake();
  }
  if (wakes) outbox_->Put(shared_from_this());
}

void HttpExchange::OnClientGone(std::function<void()> gone) {
  {
    MutexLock lock(mutex_);
    if (!is_gone_) {
      if (state_ != State::kEnded) on_gone_ = std::move(gone);
      return;
    }
  }
  gone();
}

void HttpExchange::Abandon() {
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    on_gone_ = nullptr;
    if (is_gone_ || state_ == State::kEnded) return;
    EndWithError(500, "the request was not answered");
    wakes = WantsWake();
  }
  if (wakes) outbox_->Put(shared_from_this());
}

HttpExchange::Taken HttpExchange::Take(std::string& out) {
  MutexLock lock(mutex_);
  is_awaited_ = false;
  num_in_flight_ = pending_.size();
  if (out.empty()) {
    out.swap(pending_);
  } else {
    out += pending_;
    pending_.clear();
  }
  return {.is_last = state_ == State::kEnded, .must_close = must_close_};
}

bool HttpExchange::is_event_stream() const {
  MutexLock lock(mutex_);
  return is_event_stream_ && state_ == State::kStreaming;
}

void HttpExchange::WriteComment() {
  if (is_event_stream()) Write(": keep-alive\n\n");
}

void HttpExchange::LeaveClient() {
  std::function<void()> gone;
  {
    MutexLock lock(mutex_);
    if (is_gone_) return;
    is_gone_ = true;
    pending_ = std::string();
    gone = std::exchange(on_gone_, nullptr);
    if (state_ == State::kEnded) gone = nullptr;
  }
  if (gone) gone();
}

void HttpExchange::Expire(int http_status, std::string_view message) {
  std::function<void()> gone;
  bool wakes = false;
  {
    MutexLock lock(mutex_);
    if (is_gone_ || state_ == State::kEnded) return;
    EndWithError(http_status, message);
    gone = std::exchange(on_gone_, nullptr);
    wakes = WantsWake();
  }
  if (wakes) outbox_->Put(shared_from_this());
  if (gone) gone();
}

int HttpExchange::status() const {
  MutexLock lock(mutex_);
  return status_;
}

std::int64_t HttpExchange::num_body_bytes() const {
  MutexLock lock(mutex_);
  return num_body_bytes_;
}

namespace {

class ExchangeReply : public HttpReply {
 public:
  explicit ExchangeReply(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}
  ExchangeReply(const ExchangeReply&) = delete;
  ExchangeReply& operator=(const ExchangeReply&) = delete;
  ~ExchangeReply() override { exchange_->Abandon(); }

  void AddHeader(HttpHeader header) override {
    MutexLock lock(mutex_);
    headers_.push_back(std::move(header));
  }
  void Send(HttpResponse response) override {
    AddTo(response);
    exchange_->Send(response);
  }
  void BeginStream(HttpResponse head) override {
    AddTo(head);
    exchange_->BeginStream(head);
  }
  bool Write(std::string_view bytes) override { return exchange_->Write(bytes); }
  void EndStream() override { exchange_->EndStream(); }
  void OnClientGone(std::function<void()> gone) override {
    exchange_->OnClientGone(std::move(gone));
  }

 private:
  void AddTo(HttpResponse& head) QUIRE_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (HttpHeader& header : headers_) head.headers.push_back(std::move(header));
    headers_.clear();
  }

  const std::shared_ptr<HttpExchange> exchange_;
  Mutex mutex_;
  std::vector<HttpHeader> headers_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<HttpReply> MakeReply(std::shared_ptr<HttpExchange> exchange) {
  return std::make_shared<ExchangeReply>(std::move(exchange));
}

}  // namespace quire
