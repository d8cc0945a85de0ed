#include "server/http_client.h"

#include <atomic>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strings.h"

namespace quire {
namespace {

// Answers one connection with fixed bytes and keeps what it was sent.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer, bool holds_open = false)
      : answer_(std::move(answer)),
        holds_open_(holds_open),
        listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener_, 1);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = {
        .is_tls = false, .host = "127.0.0.1", .port = StrCat(ntohs(address.sin_port)), .path = ""};
    thread_ = std::thread([this] { Serve(); });
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  ~OneAnswer() {
    thread_.join();
    close(listener_);
  }

  const HttpUrl& url() const { return url_; }
  bool saw_the_end() const { return saw_the_end_; }

  std::string sent() {
    thread_.join();
    thread_ = std::thread([] {});
    return sent_;
  }

 private:
  void Serve() {
    const int fd = accept(listener_, nullptr, nullptr);
    char bytes[4096];
    while (sent_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = read(fd, bytes, sizeof bytes);
      if (n <= 0) break;
      sent_.append(bytes, static_cast<std::size_t>(n));
    }
    (void)!write(fd, answer_.data(), answer_.size());
    if (holds_open_) {
      while (read(fd, bytes, sizeof bytes) > 0) {
      }
      saw_the_end_ = true;
    }
    close(fd);
  }

  std::string answer_;
  bool holds_open_;
  int listener_;
  HttpUrl url_;
  std::string sent_;
  std::atomic<bool> saw_the_end_ = false;
  std::thread thread_;
};

Result<HttpResponse> Get(const HttpUrl& url, std::string& body,
                         const HttpClientOptions& options = {}) {
  return FetchHttp(url, {.method = "GET", .target = "/x", .headers = {{"X-Test", "1"}}, .body = {}},
                   options, [&](std::string_view bytes) {
                     body += bytes;
                     return Status();
                   });
}

TEST(HttpUrl, IsReadFromText) {
  EXPECT_EQ((*ParseHttpUrl("http://a:8000/v1/")).ToString(), "http://a:8000/v1");
  EXPECT_EQ((*ParseHttpUrl("localhost:8000")).ToString(), "http://localhost:8000");
  EXPECT_EQ((*ParseHttpUrl("https://api.example.com/v1")).port, "443");
  EXPECT_EQ((*ParseHttpUrl("http://[::1]:80/")).host, "::1");
  EXPECT_EQ((*ParseHttpUrl("http://[::1]:80/")).ToString(), "http://[::1]:80");
}

TEST(HttpUrl, IsRefusedWhereItIsNone) {
  for (const char* text : {"", "ftp://x", "http://", "http://:80", "http://a:b", "http://a:70000",
                           "http://a b", "http://u@h", "http://a/?q", "http://[::1", "a:1:2"}) {
    EXPECT_FALSE(ParseHttpUrl(text).ok()) << text;
  }
}

TEST(HttpClient, ReadsAChunkedAnswer) {
  OneAnswer server(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  std::string body;
  const auto response = Get(server.url(), body);
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->content_type, "text/plain");
  EXPECT_EQ(body, "abcde");
  const std::string sent = server.sent();
  EXPECT_TRUE(sent.starts_with("GET /x HTTP/1.1\r\n")) << sent;
  EXPECT_NE(sent.find("X-Test: 1\r\n"), std::string::npos) << sent;
  EXPECT_NE(sent.find("Host: 127.0.0.1:"), std::string::npos) << sent;
}

TEST(HttpClient, GivesTheBodyOfARefusalInTheResult) {
  OneAnswer server("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope");
  std::string body;
  const auto response = Get(server.url(), body);
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "nope");
  EXPECT_EQ(body, "");
}

TEST(HttpClient, SaysWhenAnAnswerIsCutOffOrNoHttp) {
  for (const char* answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "", "SSH-2.0-x\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"}) {
    OneAnswer server(answer);
    std::string body;
    const auto response = Get(server.url(), body);
    EXPECT_EQ(response.status().code(), Code::kUnavailable) << answer;
    EXPECT_TRUE(response.status().message().starts_with("http://127.0.0.1:")) << answer;
  }
}

TEST(HttpClient, SaysThatNobodyListens) {
  HttpUrl url;
  {
    OneAnswer server("");
    url = server.url();
    std::string body;
    (void)Get(url, body).ok();
  }
  std::string body;
  EXPECT_EQ(Get(url, body).status().code(), Code::kUnavailable);
}

TEST(HttpClient, ClosesTheConnectionWhenItIsToStop) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", true);
  std::string body;
  const auto response = Get(server.url(), body, {.should_stop = [&] { return body == "abc"; }});
  EXPECT_EQ(response.status().code(), Code::kCancelled);
  server.sent();
  EXPECT_TRUE(server.saw_the_end());
}

TEST(HttpClient, EndsWithTheFailureOfTheSink) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
  const auto response = FetchHttp(server.url(), {.target = "/"}, {},
                                  [](std::string_view) { return Internal("full"); });
  EXPECT_EQ(response.status().message(), "full");
}

}  // namespace
}  // namespace quire
