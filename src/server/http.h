// What the HTTP front and the routes say to each other: a request in, an answer or a stream out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quire {

struct HttpHeader {
  std::string name;
  std::string value;
};

// One request whose body has come whole and is unpacked.
struct HttpRequest {
  std::string method;  // "GET", as written
  std::string path;    // percent-decoded, without the query
  std::string query;   // as written, without "?"
  std::vector<HttpHeader> headers;
  std::string body;
  std::string request_id;  // the client's X-Request-Id where it is sound, else a fresh one

  // The first header of that name, whatever its case; empty where there is none.
  std::string_view header(std::string_view name) const;
  int num_headers(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<HttpHeader> headers;  // besides those that the front writes itself
};

// Where the answer to one request goes. Any thread, one at a time; every call returns at once. An
// answer is one Send, or BeginStream, any number of Write, and EndStream. Dropping a reply that
// has not been answered answers 500.
class HttpReply {
 public:
  virtual ~HttpReply() = default;

  // Goes out with the head of the answer, where that is still to be sent.
  virtual void AddHeader(HttpHeader header) = 0;

  virtual void Send(HttpResponse response) = 0;

  // The head of a chunked answer; `head.body` is its first piece and may be empty.
  virtual void BeginStream(HttpResponse head) = 0;
  // Queues bytes of the stream; what is queued while the socket is busy goes out as one write.
  // False once the client is gone or more than the bound waits for it: the stream is over, the
  // caller stops.
  virtual bool Write(std::string_view bytes) = 0;
  virtual void EndStream() = 0;

  // Calls `gone` once, on a thread of the front, when the client leaves before the answer is
  // whole; at once when it has left already.
  virtual void OnClientGone(std::function<void()> gone) = 0;
};

using HttpHandler = std::function<void(std::shared_ptr<const HttpRequest> request,
                                       std::shared_ptr<HttpReply> reply)>;

// Who may call a route.
enum class Access {
  kOpen,   // anyone: /health, /ping
  kKey,    // holders of an API key, where keys are set
  kAdmin,  // holders of the admin key, where --enable-admin is given; else the route is not there
};

struct Route {
  std::string method;
  // A part "{name}" matches one part of the path, a last one "{name:path}" all that is left; the
  // handler reads it again.
  std::string path;
  Access access = Access::kKey;
  HttpHandler handler;
};

}  // namespace quire
