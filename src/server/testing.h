// What the tests of this folder share: a server on a free port and a client that sees every byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/strings.h"
#include "formats/json.h"
#include "server/serve.h"

namespace quire {

// A blocking socket. Reading gives up after ten seconds.
class TestClient {
 public:
  explicit TestClient(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  explicit TestClient(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  ~TestClient() { Close(); }

  bool is_connected() const { return is_connected_; }
  int fd() const { return fd_; }

  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // One answer: its head, and a body as long as the head says. Empty where none came.
  struct Answer {
    int status = 0;
    std::string head;
    std::string body;  // out of its chunks
    bool is_whole = false;

    std::string header(std::string_view name) const {
      const std::string line = StrCat("\r\n", name, ": ");
      const std::size_t at = head.find(line);
      if (at == std::string::npos) return {};
      const std::size_t start = at + line.size();
      return head.substr(start, head.find("\r\n", start) - start);
    }
  };
  Answer Read(bool has_body = true) {
    Answer answer;
    if (!FillUntil("\r\n\r\n")) return answer;
    const std::size_t end = buffer_.find("\r\n\r\n") + 4;
    answer.head = Take(end);
    answer.status = ParseNumber<int>(answer.head.substr(9, 3)).value_or(0);
    if (!has_body || answer.status == 204 || answer.status / 100 == 1) {
      answer.is_whole = true;
    } else if (answer.header("Transfer-Encoding") == "chunked") {
      while (ReadChunk(answer)) {
      }
    } else {
      ReadBody(ParseNumber<std::size_t>(answer.header("Content-Length")).value_or(0), answer);
    }
    return answer;
  }
  Answer Ask(std::string_view request, bool has_body = true) {
    Send(request);
    return Read(has_body);
  }

  // Until the other side closes.
  std::string ReadAll() {
    while (Fill()) {
    }
    return Take(buffer_.size());
  }
  bool WaitForEnd() {
    while (Fill()) {
    }
    return is_ended_;
  }
  // Waits until `text` has come; what came stays to be read.
  bool FillUntil(std::string_view text) {
    while (buffer_.find(text) == std::string::npos) {
      if (!Fill()) return false;
    }
    return true;
  }

  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  void Connect(const sockaddr* address, socklen_t size) {
    is_connected_ = connect(fd_, address, size) == 0;
  }

  bool Fill() {
    constexpr int kPatienceMs = 60'000;
    pollfd waiting{.fd = fd_, .events = POLLIN};
    if (poll(&waiting, 1, kPatienceMs) <= 0) return false;
    char bytes[65536];
    const ssize_t size = recv(fd_, bytes, sizeof bytes, 0);
    if (size <= 0) {
      is_ended_ = true;
      return false;
    }
    buffer_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

  std::string Take(std::size_t size) {
    std::string taken = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return taken;
  }

  void ReadBody(std::size_t size, Answer& answer) {
    while (buffer_.size() < size && Fill()) {
    }
    answer.is_whole = buffer_.size() >= size;
    answer.body = Take(size);
  }

  // False after the last one.
  bool ReadChunk(Answer& answer) {
    if (!FillUntil("\r\n")) return false;
    const std::string line = Take(buffer_.find("\r\n") + 2);
    const std::size_t size = std::strtoul(line.c_str(), nullptr, 16);
    while (buffer_.size() < size + 2 && Fill()) {
    }
    if (buffer_.size() < size + 2) return false;
    answer.body += Take(size);
    Take(2);
    answer.is_whole = size == 0;
    return size > 0;
  }

  int fd_ = -1;
  bool is_connected_ = false;
  bool is_ended_ = false;
  std::string buffer_;
};

// Holds replies until a test answers them.
class Desk {
 public:
  Route Holding(std::string path) {
    return {"POST", std::move(path), Access::kKey,
            [this](const auto&, const std::shared_ptr<HttpReply>& reply) {
              MutexLock lock(mutex_);
              replies_.push_back(reply);
              changed_.notify_all();
            }};
  }
  std::shared_ptr<HttpReply> Next() {
    MutexLock lock(mutex_);
    while (replies_.empty()) changed_.wait(mutex_);
    std::shared_ptr<HttpReply> reply = replies_.back();
    replies_.pop_back();
    return reply;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::shared_ptr<HttpReply>> replies_ QUIRE_GUARDED_BY(mutex_);
};

// Whether `condition` comes true within a minute.
template <typename Condition>
bool Eventually(const Condition& condition) {
  for (int i = 0; i < 12'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// Whether `body` is one error with `code` in the one shape of all errors.
inline testing::AssertionResult IsError(const std::string& body, int code) {
  const auto json = ParseJson(body);
  if (!json.ok()) return testing::AssertionFailure() << "no JSON: " << body;
  const Json* error = json->Find("error");
  if (error == nullptr) return testing::AssertionFailure() << "no error: " << body;
  for (const char* name : {"message", "type", "param", "code"}) {
    if (error->Find(name) == nullptr) return testing::AssertionFailure() << "no " << name;
  }
  if (!error->Find("code")->is_int() || error->Find("code")->integer() != code) {
    return testing::AssertionFailure() << body;
  }
  return testing::AssertionSuccess();
}

inline std::string PostText(std::string_view path, std::string_view body,
                            std::string_view more_headers = {}) {
  return StrCat("POST ", path, " HTTP/1.1\r\nHost: h\r\n", more_headers,
                "Content-Length: ", body.size(), "\r\n\r\n", body);
}

inline std::string GetText(std::string_view path, std::string_view more_headers = {}) {
  return StrCat("GET ", path, " HTTP/1.1\r\nHost: h\r\n", more_headers, "\r\n");
}

// POST /echo answers with the body it got.
inline Route EchoRoute() {
  return {"POST", "/echo", Access::kKey, [](const auto& request, const auto& reply) {
            reply->Send({.content_type = "text/plain", .body = request->body});
          }};
}

// On a free port of this machine, in two threads.
inline ServerConfig TestServerConfig() {
  ServerConfig config;
  config.listen.port = 0;
  config.listen.io_threads = 2;
  return config;
}

// Started and serving `routes`; there is no engine.
inline std::unique_ptr<Server> StartTestServer(
    const ServerConfig& config, std::vector<Route> routes,
    std::function<void(const HttpAccess&)> on_answered = {}) {
  std::unique_ptr<Server> server = *Server::Start(config, std::move(on_answered));
  server->Serve(std::move(routes),
                {.engine = [] { return std::shared_ptr<AsyncEngine>(); }, .version = "1.2.3"});
  return server;
}

}  // namespace quire
