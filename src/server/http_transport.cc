#include "server/http_transport.h"

#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <openssl/ssl.h>

namespace quire {

namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

// Any family: only bytes matter from here on.
Socket Adopt(asio::io_context& io, int fd) {
  Socket socket(io);
  ErrorCode error;
  socket.assign(asio::generic::stream_protocol(0, 0), fd, error);
  if (!error) socket.non_blocking(true, error);
  return socket;
}

// The part that outlives the transport while the system still owes it an answer.
struct Link {
  HttpTransportContext& context;
  std::weak_ptr<HttpConnection> connection;
  bool is_closed = false;
  bool is_reading = false;

  // Calls `event` on the connection, unless it is gone.
  template <typename Event>
  void Tell(Event event) {
    if (is_closed) return;
    const std::shared_ptr<HttpConnection> target = connection.lock();
    if (target == nullptr) return;
    event(*target);
    context.after_event(*target);
  }
};

// Reads when the system says that there is something, into a buffer that all connections of the
// thread share: an idle connection holds no memory for it.
class PlainSocket : public HttpSocket {
 public:
  PlainSocket(HttpTransportContext& context, int fd)
      : state_(std::make_shared<State>(State{{context, {}}, Adopt(context.io, fd), {}})) {}
  PlainSocket(const PlainSocket&) = delete;
  PlainSocket& operator=(const PlainSocket&) = delete;
  ~PlainSocket() override { Close(); }

  void Bind(std::weak_ptr<HttpConnection> connection) override {
    state_->connection = std::move(connection);
  }

  void Read() override {
    if (state_->is_closed || std::exchange(state_->is_reading, true)) return;
    state_->socket.async_wait(Socket::wait_read, [state = state_](const ErrorCode& error) {
      if (error == asio::error::operation_aborted) return;
      Receive(*state);
    });
  }

  Sent Write(std::string_view bytes) override {
    ErrorCode error;
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      sent += state_->socket.write_some(asio::buffer(bytes.substr(sent)), error);
      if (error == asio::error::would_block) break;
      if (error) return Sent::kBroken;
    }
    if (sent == bytes.size()) return Sent::kAll;
    state_->unsent = bytes.substr(sent);
    WaitToSend(state_);
    return Sent::kLater;
  }

  void EndWrites() override {
    ErrorCode ignored;
    state_->socket.shutdown(Socket::shutdown_send, ignored);
  }

  void Close() override {
    state_->is_closed = true;
    ErrorCode ignored;
    state_->socket.close(ignored);
  }

 private:
  struct State : Link {
    Socket socket;
    std::string_view unsent;
  };

  static void Receive(State& state) {
    state.is_reading = false;
    ErrorCode error;
    const std::span<char> buffer = state.context.read_buffer;
    const std::size_t size =
        state.is_closed ? 0
                        : state.socket.read_some(asio::buffer(buffer.data(), buffer.size()), error);
    state.Tell([&](HttpConnection& connection) {
      if (error == asio::error::would_block) return connection.OnBytes({});
      if (error || size == 0) return connection.OnEnd();
      connection.OnBytes({buffer.data(), size});
    });
  }

  static void WaitToSend(const std::shared_ptr<State>& state) {
    state->socket.async_wait(Socket::wait_write, [state](const ErrorCode& wait_error) {
      if (wait_error || state->is_closed) return;
      ErrorCode error;
      const std::size_t size = state->socket.write_some(asio::buffer(state->unsent), error);
      state->unsent.remove_prefix(size);
      if (error && error != asio::error::would_block) {
        return state->Tell([](HttpConnection& connection) { connection.OnEnd(); });
      }
      if (!state->unsent.empty()) {
        state->Tell([](HttpConnection& connection) { connection.OnProgress(); });
        return WaitToSend(state);
      }
      state->Tell([](HttpConnection& connection) { connection.OnSent(); });
    });
  }

  const std::shared_ptr<State> state_;
};

// TLS keeps its own buffers, so a connection holds some tens of kilobytes.
class TlsSocket : public HttpSocket {
 public:
  TlsSocket(HttpTransportContext& context, int fd, SSL_CTX* tls)
      : state_(std::make_shared<State>(context, fd, tls)) {}
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;
  ~TlsSocket() override { Close(); }

  void Bind(std::weak_ptr<HttpConnection> connection) override {
    state_->connection = std::move(connection);
  }

  void Read() override {
    if (state_->is_closed || std::exchange(state_->is_reading, true)) return;
    if (state_->is_secure) return Receive(state_);
    state_->stream.async_handshake(
        asio::ssl::stream_base::server, [state = state_](const ErrorCode& error) {
          if (error) {
            return state->Tell([](HttpConnection& connection) { connection.OnEnd(); });
          }
          state->is_secure = true;
          Receive(state);
        });
  }

  Sent Write(std::string_view bytes) override {
    if (!state_->is_secure) return Sent::kBroken;
    state_->unsent = bytes;
    Send(state_);
    return Sent::kLater;
  }

  void EndWrites() override {
    state_->stream.async_shutdown([state = state_](const ErrorCode&) {
      ErrorCode ignored;
      state->stream.next_layer().shutdown(Socket::shutdown_send, ignored);
    });
  }

  void Close() override {
    state_->is_closed = true;
    ErrorCode ignored;
    state_->stream.next_layer().close(ignored);
  }

 private:
  struct State : Link {
    State(HttpTransportContext& shared, int fd, SSL_CTX* tls)
        : Link{shared, {}}, tls_context(Share(tls)), stream(Adopt(shared.io, fd), tls_context) {}

    static asio::ssl::context Share(SSL_CTX* tls) {
      SSL_CTX_up_ref(tls);
      return asio::ssl::context(tls);
    }

    asio::ssl::context tls_context;
    asio::ssl::stream<Socket> stream;
    std::vector<char> buffer = std::vector<char>(std::size_t{16} << 10);
    std::string_view unsent;
    bool is_secure = false;
  };

  static void Receive(const std::shared_ptr<State>& state) {
    state->stream.async_read_some(asio::buffer(state->buffer),
                                  [state](const ErrorCode& error, std::size_t size) {
                                    state->is_reading = false;
                                    state->Tell([&](HttpConnection& connection) {
                                      if (error) return connection.OnEnd();
                                      connection.OnBytes({state->buffer.data(), size});
                                    });
                                  });
  }

  static void Send(const std::shared_ptr<State>& state) {
    state->stream.async_write_some(
        asio::buffer(state->unsent), [state](const ErrorCode& error, std::size_t size) {
          state->unsent.remove_prefix(size);
          if (error) return state->Tell([](HttpConnection& connection) { connection.OnEnd(); });
          if (!state->unsent.empty()) {
            state->Tell([](HttpConnection& connection) { connection.OnProgress(); });
            return Send(state);
          }
          state->Tell([](HttpConnection& connection) { connection.OnSent(); });
        });
  }

  const std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<HttpSocket> MakeHttpSocket(HttpTransportContext& context, int fd, SSL_CTX* tls) {
  if (tls != nullptr) return std::make_unique<TlsSocket>(context, fd, tls);
  return std::make_unique<PlainSocket>(context, fd);
}

}  // namespace quire
