// The HTTP server: listening sockets and the threads that serve their connections.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "server/http_connection.h"
#include "server/listener.h"

struct ssl_ctx_st;

namespace quire {

// Keys and certificates of a server's end of TLS; may be shared by many connections.
using TlsContext = std::shared_ptr<ssl_ctx_st>;

class HttpServer {
 public:
  struct Options {
    int num_threads = 1;               // that read, write and call the handler
    std::int64_t max_connections = 0;  // further ones are answered 503; 0: as files allow
    TlsContext tls;                    // null: plain
  };

  // Serves what `service` says until it is destroyed; `service` outlives it.
  static Result<std::unique_ptr<HttpServer>> Start(Listener listener, HttpService& service,
                                                   const Options& options);
  // Closes everything, at once.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;  // 0 of a UNIX socket
  // For connections to come.
  void SetTls(TlsContext tls);

  // Nobody is let in any more; connections end after the answer that is under way, those without
  // one at once.
  void CloseIdle();
  // Ends every request under way with an error that its client gets to see.
  void EndRequests(int http_status, const std::string& message);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
