#include "apps/quire/batch_run.h"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <utility>

#include "apps/quire/interrupt.h"
#include "base/strings.h"
#include "server/api_error.h"

namespace quire {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{200};  // how soon Ctrl-C is heard
constexpr std::chrono::seconds kSyncEvery{1};

// Refusals that another moment would not have brought.
bool IsForNow(int status) { return status == 429 || status == 503; }

}  // namespace

// Answers on their way from the threads of the routes to the one that writes.
class BatchRun::Mailbox {
 public:
  struct Letter {
    std::int64_t number;
    HttpResponse response;
  };

  void Put(Letter letter) {
    {
      const std::lock_guard lock(mutex_);
      letters_.push_back(std::move(letter));
    }
    arrived_.notify_one();
  }

  // Those that have come; waits a turn for the first.
  std::deque<Letter> TakeAll() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, kTurn, [this] { return !letters_.empty(); });
    return std::exchange(letters_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Letter> letters_;
};

// Keeps the whole of one answer.
class BatchRun::Reply : public HttpReply {
 public:
  Reply(std::int64_t number, std::shared_ptr<Mailbox> mailbox)
      : number_(number), mailbox_(std::move(mailbox)) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() override {
    if (!is_answered_) Post(ErrorResponse(500, "the request was dropped without an answer"));
  }

  void AddHeader(HttpHeader /*header*/) override {}  // a line of the output has none
  void Send(HttpResponse response) override { Post(std::move(response)); }
  void BeginStream(HttpResponse head) override { streamed_ = std::move(head); }
  bool Write(std::string_view bytes) override {
    streamed_.body += bytes;
    return true;
  }
  void EndStream() override { Post(std::move(streamed_)); }

  void OnClientGone(std::function<void()> gone) override {
    {
      const std::lock_guard lock(mutex_);
      if (!is_gone_) {
        gone_ = std::move(gone);
        return;
      }
    }
    gone();
  }

  // Nobody waits for the answer any more.
  void Leave() {
    std::function<void()> gone;
    {
      const std::lock_guard lock(mutex_);
      is_gone_ = true;
      gone = std::exchange(gone_, nullptr);
    }
    if (gone) gone();
  }

 private:
  void Post(HttpResponse response) {
    is_answered_ = true;
    mailbox_->Put({number_, std::move(response)});
  }

  const std::int64_t number_;
  const std::shared_ptr<Mailbox> mailbox_;
  bool is_answered_ = false;
  HttpResponse streamed_;
  std::mutex mutex_;
  bool is_gone_ = false;
  std::function<void()> gone_;
};

BatchRun::BatchRun(const std::vector<Route>& routes, BatchOutput& output, Options options)
    : routes_(routes),
      output_(output),
      options_(std::move(options)),
      mailbox_(std::make_shared<Mailbox>()),
      start_(steady_clock::now()),
      next_sync_(start_ + kSyncEvery) {}

BatchRun::~BatchRun() = default;

Status BatchRun::Run(LineReader& reader) {
  while (!at_end_ || !live_.empty() || !again_.empty()) {
    if (IsInterrupted()) {
      GiveUp();
      return Status(Code::kCancelled, "");
    }
    QUIRE_RETURN_IF_ERROR(ReadMore(reader));
    if (!live_.empty()) QUIRE_RETURN_IF_ERROR(TakeAnswers());
    ShowProgress();
    if (steady_clock::now() >= next_sync_) {
      QUIRE_RETURN_IF_ERROR(output_.Sync());
      next_sync_ = steady_clock::now() + kSyncEvery;
    }
  }
  progress_.Clear();
  return output_.Sync();
}

Status BatchRun::ReadMore(LineReader& reader) {
  // What was refused for the moment waits until something else is through.
  while (!again_.empty() && live_.size() < options_.max_live) {
    BatchLine line = std::move(again_.front());
    again_.pop_front();
    Ask(std::move(line));
  }
  while (!at_end_ && live_.size() < options_.max_live && !IsInterrupted()) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> text, reader.Next());
    at_end_ = !text;
    if (!text) break;
    ++num_read_;
    if (text->find_first_not_of(" \t\r") == std::string::npos) continue;
    BatchLine line = ReadBatchLine(num_read_, *text);
    if (output_.TakeDone(line)) {
      ++num_done_before_;
    } else if (!line.fault.ok()) {
      QUIRE_RETURN_IF_ERROR(Write(line, {.status = 400}));
    } else {
      Ask(std::move(line));
    }
  }
  return {};
}

void BatchRun::Ask(BatchLine line) {
  const auto reply = std::make_shared<Reply>(line.number, mailbox_);
  const auto request = std::make_shared<HttpRequest>();
  request->method = "POST";
  request->path = line.url;
  request->headers = {{"Content-Type", "application/json"}};
  request->body = line.body;
  request->request_id = StrCat("batch-", line.number);
  Live& live = live_[line.number];
  live.line = std::move(line);
  live.reply = reply;
  for (const Route& route : routes_) {
    if (route.method == "POST" && route.path == request->path) return route.handler(request, reply);
  }
  reply->Send(ErrorResponse(404, StrCat("url: this server has no ", request->path)));
}

Status BatchRun::TakeAnswers() {
  for (BatchRun::Mailbox::Letter& letter : mailbox_->TakeAll()) {
    const auto found = live_.find(letter.number);
    if (found == live_.end()) continue;
    Live live = std::move(found->second);
    live_.erase(found);
    if (IsForNow(letter.response.status) && !live_.empty()) {
      again_.push_back(std::move(live.line));
    } else {
      QUIRE_RETURN_IF_ERROR(Write(live.line, letter.response));
    }
  }
  return {};
}

Status BatchRun::Write(const BatchLine& line, const HttpResponse& response) {
  ++num_written_;
  if (response.status != 200) ++num_failed_;
  return output_.Append(WriteBatchLine(line, response));
}

void BatchRun::GiveUp() {
  progress_.Clear();
  for (const auto& [number, live] : live_) {
    if (const std::shared_ptr<Reply> reply = live.reply.lock()) reply->Leave();
  }
  live_.clear();
}

void BatchRun::ShowProgress() {
  if (options_.quiet || !progress_.is_due()) return;
  const BatchSpeed speed = options_.speed();
  const double seconds = std::chrono::duration<double>(steady_clock::now() - start_).count();
  char rate[48];
  std::snprintf(rate, sizeof rate, "%.1f",
                seconds > 0 ? static_cast<double>(speed.num_tokens) / seconds : 0.0);
  const std::string total = options_.num_lines ? StrCat(" of ", *options_.num_lines) : "";
  progress_.Show(StrCat(num_done_before_ + num_written_, total, " done, ", num_failed_, " failed, ",
                        speed.num_running, " running, ", rate, " tokens/s"));
}

std::string BatchRun::Summary() const {
  const BatchSpeed speed = options_.speed();
  const double seconds = std::chrono::duration<double>(steady_clock::now() - start_).count();
  char rate[48];
  std::snprintf(rate, sizeof rate, "%.1f",
                seconds > 0 ? static_cast<double>(speed.num_tokens) / seconds : 0.0);
  return StrCat(Plural(num_written_, "request"), " answered, ", num_failed_,
                " of them with an error; ", num_done_before_, " done before; ",
                Plural(speed.num_tokens, "token"), ", ", rate, " tokens/s");
}

}  // namespace quire
