// Requests out of the bytes of a connection, bounded in every dimension.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/http.h"

namespace quire {

struct HttpLimits {
  std::size_t max_header_bytes = std::size_t{64} << 10;  // request line and headers together
  int max_headers = 256;
  std::size_t max_body_bytes = std::size_t{16} << 20;  // as sent, and once more as unpacked
};

// Why a request is answered before it is whole; the connection ends with the answer.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

// HTTP/1.0 and 1.1. One connection, one thread; each request by itself.
class HttpParser {
 public:
  enum class Progress {
    kNeedsMore,  // all bytes are used
    kComplete,   // Take() gives the request; what is left belongs to the next one
    kRefused,    // refusal() says why; nothing more can be read
  };

  explicit HttpParser(const HttpLimits& limits);
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;
  ~HttpParser();

  // Reads from the front of `bytes` and takes off what it used. Not after kComplete before Take().
  Progress Feed(std::string_view& bytes);

  // The request, whose body is as it was sent and whose id is empty; the next one may begin.
  HttpRequest Take();

  const HttpRefusal& refusal() const { return refusal_; }
  bool has_begun() const { return state_ != nullptr; }  // a byte of the request has come
  bool has_head() const;
  std::string_view path() const;  // of the request being read, as written; empty before it is there
  std::size_t num_body_bytes() const;  // that have come of the request being read
  // Of the request read last or being read, once its head is there.
  bool keeps_alive() const { return keeps_alive_; }
  bool is_http_1_0() const { return is_http_1_0_; }
  // Whether the client waits for "100 Continue" before it sends the body; says so once.
  bool TakeExpectsContinue();

 private:
  struct State;
  Progress FeedHead(std::string_view& bytes);
  Progress FeedBody(std::string_view& bytes);
  Progress Put(std::string_view bytes, std::size_t& used);
  Progress CheckHead();
  Progress Refuse(int status, std::string message);

  const HttpLimits limits_;
  std::unique_ptr<State> state_;  // of the request being read; null between requests
  HttpRefusal refusal_;
  bool keeps_alive_ = true;
  bool is_http_1_0_ = false;
};

}  // namespace quire
