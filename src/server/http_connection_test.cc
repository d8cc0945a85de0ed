#include "server/http_connection.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing.h"

namespace quire {
namespace {

using std::chrono::milliseconds;

// Keeps what is sent.
class RecordingTransport : public HttpTransport {
 public:
  explicit RecordingTransport(std::string& sent) : sent_(sent) {}

  void Read() override {}
  Sent Write(std::string_view bytes) override {
    sent_ += bytes;
    return Sent::kAll;
  }
  void EndWrites() override {}
  void Close() override {}

 private:
  std::string& sent_;
};

// A connection whose requests wait in `replies`, and whose clock is told.
class HttpConnectionTest : public testing::Test {
 protected:
  HttpConnectionTest() {
    service_.handler = [this](const auto&, std::shared_ptr<HttpReply> reply) {
      replies_.push_back(std::move(reply));
    };
    service_.comment_interval = milliseconds(1'000);
    connection_ = std::make_shared<HttpConnection>(
        service_, outbox_, std::make_unique<RecordingTransport>(sent_), "peer");
    connection_->Start();
  }
  ~HttpConnectionTest() override {
    connection_->Close();
    replies_.clear();
    outbox_->Close();  // what waits in it holds the outbox in turn
  }

  std::string TakeSent() {
    connection_->Flush();
    return std::exchange(sent_, {});
  }
  void BeginStream(std::string content_type, std::string_view path = "/") {
    connection_->OnBytes(GetText(path));
    replies_.back()->BeginStream({.content_type = std::move(content_type), .body = "data: 1\n\n"});
    TakeSent();
  }

  const std::shared_ptr<HttpOutbox> outbox_ = std::make_shared<HttpOutbox>([] {});
  HttpService service_;
  std::string sent_;
  std::vector<std::shared_ptr<HttpReply>> replies_;
  std::shared_ptr<HttpConnection> connection_;
};

TEST_F(HttpConnectionTest, PutsACommentIntoAStreamWithoutNews) {
  BeginStream("text/event-stream");
  const HttpClock::time_point due = connection_->deadline();
  EXPECT_LE(due, HttpClock::now() + milliseconds(1'000));
  connection_->OnTime(due - milliseconds(1));
  EXPECT_EQ(TakeSent(), "");
  connection_->OnTime(due);
  EXPECT_EQ(TakeSent(), "e\r\n: keep-alive\n\n\r\n");
  EXPECT_GT(connection_->deadline(), due) << "the next one has its own time";
  connection_->OnTime(connection_->deadline());
  EXPECT_EQ(TakeSent(), "e\r\n: keep-alive\n\n\r\n");
  replies_.back()->EndStream();
  EXPECT_EQ(TakeSent(), "0\r\n\r\n");
  EXPECT_GT(connection_->deadline(), HttpClock::now() + milliseconds(10'000)) << "it is idle now";
}

TEST_F(HttpConnectionTest, PutsNoCommentIntoWhatIsNoStreamOfEvents) {
  BeginStream("application/json");
  EXPECT_EQ(connection_->deadline(), HttpClock::time_point::max());
  replies_.back()->EndStream();
  TakeSent();
  connection_->OnBytes("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(connection_->deadline(), HttpClock::time_point::max()) << "no answer has begun";
  replies_.back()->Send({.body = "{}"});
  TakeSent();
}

TEST_F(HttpConnectionTest, EndsAStreamThatGetsCommentsWhenItsTimeIsUp) {
  service_.request_timeout = milliseconds(500);
  BeginStream("text/event-stream");
  const HttpClock::time_point due = connection_->deadline();
  connection_->OnTime(due + milliseconds(5'000));  // both are overdue
  const std::string sent = TakeSent();
  EXPECT_NE(sent.find("504"), std::string::npos) << sent;
  EXPECT_NE(sent.find("0\r\n\r\n"), std::string::npos) << sent;
}

// What ends a request from below its route speaks to the clients of that route all the same.
TEST_F(HttpConnectionTest, EndsStreamsInTheWordsOfTheirClients) {
  service_.request_timeout = milliseconds(500);
  const auto last_words = [this](std::string_view path) {
    BeginStream("text/event-stream", path);
    connection_->OnTime(HttpClock::now() + milliseconds(1'000'000));
    std::string sent = TakeSent();
    connection_ = std::make_shared<HttpConnection>(
        service_, outbox_, std::make_unique<RecordingTransport>(sent_), "peer");
    return sent;
  };
  const std::string chat = last_words("/v1/chat/completions");
  EXPECT_NE(chat.find("\ndata: {\"error\":{\"message\""), std::string::npos) << chat;
  EXPECT_NE(chat.find("\n\ndata: [DONE]\n\n"), std::string::npos) << chat;
  for (const char* path : {"/v1/messages", "/proxy/v1/messages"}) {
    const std::string message = last_words(path);
    EXPECT_NE(message.find("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                           "\"timeout_error\",\"message\":"),
              std::string::npos)
        << message;
    EXPECT_EQ(message.find("[DONE]"), std::string::npos);
  }
  const std::string response = last_words("/v1/responses");
  EXPECT_NE(response.find("event: error\ndata: {\"type\":\"error\",\"code\":"), std::string::npos)
      << response;
  EXPECT_NE(response.find(",\"error\":{\"message\":"), std::string::npos) << response;
}

TEST_F(HttpConnectionTest, RefusesInTheWordsOfTheRoutesClientsBeforeTheAnswerBegins) {
  service_.request_timeout = milliseconds(500);
  connection_->OnBytes(GetText("/v1/messages"));
  connection_->OnTime(HttpClock::now() + milliseconds(1'000'000));
  const std::string late = TakeSent();
  EXPECT_NE(late.find("{\"type\":\"error\",\"error\":{\"type\":\"timeout_error\""),
            std::string::npos)
      << late;
}

TEST_F(HttpConnectionTest, AnswersForARouteThatForgetsToInItsClientsWords) {
  connection_->OnBytes(GetText("/v1/messages/count_tokens"));
  replies_.clear();
  const std::string forgotten = TakeSent();
  EXPECT_NE(forgotten.find("{\"type\":\"error\",\"error\":{\"type\":\"api_error\""),
            std::string::npos)
      << forgotten;
}

TEST_F(HttpConnectionTest, RefusesAnEncodingOfTheBodyThatItCannotUndo) {
  const auto status_of = [this](std::string_view headers) {
    connection_->OnBytes(PostText("/", "{}", headers));
    const std::string sent = TakeSent();
    return sent.substr(0, sizeof "HTTP/1.1 415" - 1);
  };
  EXPECT_EQ(status_of("Content-Encoding: br\r\n"), "HTTP/1.1 415");
  EXPECT_EQ(status_of("Content-Encoding: gzip, gzip\r\n"), "HTTP/1.1 415");
  EXPECT_EQ(status_of("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"), "HTTP/1.1 415");
  EXPECT_EQ(status_of("Content-Encoding: GZip\r\n"), "HTTP/1.1 400") << "it is not packed";
  EXPECT_TRUE(replies_.empty());
  connection_->OnBytes(PostText("/", "{}", "Content-Encoding: Identity\r\n"));
  EXPECT_EQ(replies_.size(), 1u);
}

}  // namespace
}  // namespace quire
