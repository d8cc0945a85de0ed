// Sockets under connections, plain or with TLS.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "server/http_connection.h"

namespace boost::asio {
class io_context;
}
struct ssl_ctx_st;

namespace quire {

// What the transports of one I/O thread share.
struct HttpTransportContext {
  boost::asio::io_context& io;
  std::span<char> read_buffer;  // for whoever reads just now
  // Called on the I/O thread after anything happened to a connection.
  std::function<void(HttpConnection& connection)> after_event;
};

// A transport over the connected socket `fd`, which it owns. Bind it to its connection before the
// first call. `tls`, a context that outlives this call, makes it a server's end of TLS.
class HttpSocket : public HttpTransport {
 public:
  virtual void Bind(std::weak_ptr<HttpConnection> connection) = 0;
};
std::unique_ptr<HttpSocket> MakeHttpSocket(HttpTransportContext& context, int fd, ssl_ctx_st* tls);

}  // namespace quire
