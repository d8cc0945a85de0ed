#include "server/http_client.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <openssl/ssl.h>

#include "base/strings.h"

namespace quire {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{100};
constexpr std::uint32_t kMaxHeaderBytes = 64 << 10;

Status Unavailable(std::string message) { return Status(Code::kUnavailable, std::move(message)); }

std::string Text(const ErrorCode& error) {
  if (error == http::error::end_of_stream || error == asio::error::eof ||
      error == http::error::partial_message) {
    return "the server closed the connection before its answer was whole";
  }
  return error.message();
}

// Runs one asynchronous operation at a time, with an ear for should_stop and a deadline.
class Waiter {
 public:
  Waiter(asio::io_context& io, Tcp::socket& socket, const HttpClientOptions& options)
      : io_(io), socket_(socket), options_(options) {}

  void SetDeadline(std::optional<Clock::time_point> deadline) { deadline_ = deadline; }

  // `start` is given the handler that the operation has to call. What went wrong is said with
  // `doing` before it.
  template <typename Start>
  Status Run(std::string_view doing, Start start) {
    const auto result = std::make_shared<std::optional<ErrorCode>>();
    start([result](const ErrorCode& error, auto&&...) { *result = error; });
    io_.restart();
    while (!result->has_value()) {
      io_.run_one_for(kTurn);
      if (!result->has_value() && HasToEnd()) return End(doing);
    }
    if (**result) return Unavailable(StrCat(doing, ": ", Text(**result)));
    return {};
  }

 private:
  bool IsStopped() const { return options_.should_stop && options_.should_stop(); }
  bool HasToEnd() const { return IsStopped() || (deadline_ && Clock::now() >= *deadline_); }

  Status End(std::string_view doing) {
    const bool is_stopped = IsStopped();
    ErrorCode ignored;
    socket_.close(ignored);
    io_.run();  // the operation hears that it was aborted
    if (is_stopped) return Status(Code::kCancelled, "");
    return Unavailable(StrCat(doing, ": timed out"));
  }

  asio::io_context& io_;
  Tcp::socket& socket_;
  const HttpClientOptions& options_;
  std::optional<Clock::time_point> deadline_;
};

http::request<http::string_body> MakeRequest(const HttpUrl& url, const HttpClientRequest& request) {
  http::request<http::string_body> out;
  out.version(11);
  out.method_string(request.method);
  out.target(request.target);
  const std::string authority = url.ToString();
  const std::size_t start = authority.find("://") + 3;
  out.set(http::field::host, authority.substr(start, authority.find('/', start) - start));
  out.set(http::field::user_agent, "quire");
  out.set(http::field::connection, "close");
  for (const HttpHeader& header : request.headers) out.set(header.name, header.value);
  out.body() = request.body;
  out.prepare_payload();
  return out;
}

bool IsSuccess(int status) { return status >= 200 && status < 300; }

// The exchange over a stream that is connected.
template <typename Stream>
class Exchange {
 public:
  Exchange(Stream& stream, Waiter& waiter, const HttpClientOptions& options)
      : stream_(stream), waiter_(waiter), options_(options) {
    parser_.header_limit(kMaxHeaderBytes);
    parser_.body_limit(boost::none);
  }

  Result<HttpResponse> Run(const http::request<http::string_body>& request,
                           const HttpBodySink& sink) {
    const Status sent = waiter_.Run("sending the request", [&](auto handler) {
      http::async_write(stream_, request, std::move(handler));
    });
    // A server may answer, and hang up, before it has read a request that it refuses.
    if (sent.code() == Code::kCancelled) return sent;
    const Status read = waiter_.Run("reading the answer", [&](auto handler) {
      http::async_read_header(stream_, buffer_, parser_, std::move(handler));
    });
    if (!read.ok()) return sent.ok() ? read : sent;
    HttpResponse response = Head();
    QUIRE_RETURN_IF_ERROR(ReadBody(response, sink));
    return response;
  }

 private:
  HttpResponse Head() const {
    HttpResponse response;
    response.status = static_cast<int>(parser_.get().result_int());
    response.content_type = std::string(parser_.get()[http::field::content_type]);
    for (const auto& field : parser_.get()) {
      response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    }
    return response;
  }

  Status ReadBody(HttpResponse& response, const HttpBodySink& sink) {
    std::array<char, 16384> bytes;
    while (!parser_.is_done()) {
      parser_.get().body().data = bytes.data();
      parser_.get().body().size = bytes.size();
      QUIRE_RETURN_IF_ERROR(waiter_.Run("reading the answer", [&](auto handler) {
        http::async_read_some(stream_, buffer_, parser_,
                              [handler = std::move(handler)](ErrorCode error, std::size_t) {
                                if (error == http::error::need_buffer) error = {};
                                handler(error);
                              });
      }));
      const std::string_view got(bytes.data(), bytes.size() - parser_.get().body().size);
      if (IsSuccess(response.status)) {
        if (!got.empty()) QUIRE_RETURN_IF_ERROR(sink(got));
      } else {
        response.body += got.substr(
            0, options_.max_error_bytes - std::min(response.body.size(), options_.max_error_bytes));
      }
    }
    return {};
  }

  Stream& stream_;
  Waiter& waiter_;
  const HttpClientOptions& options_;
  boost::beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
};

Status Connect(asio::io_context& io, const HttpUrl& url, Tcp::socket& socket, Waiter& waiter) {
  Tcp::resolver resolver(io);
  ErrorCode error;
  const auto addresses = resolver.resolve(url.host, url.port, error);
  if (error) return Unavailable(StrCat("looking up ", Printable(url.host), ": ", error.message()));
  QUIRE_RETURN_IF_ERROR(waiter.Run("connecting", [&](auto handler) {
    asio::async_connect(socket, addresses, std::move(handler));
  }));
  socket.set_option(Tcp::no_delay(true), error);
  return {};
}

Status TrustCertificates(asio::ssl::context& tls, const HttpClientOptions& options) {
  ErrorCode error;
  if (options.ca_certs.empty()) {
    tls.set_default_verify_paths(error);
    // Where OpenSSL was built to look is not where every system keeps them.
    for (const char* path : {"/etc/ssl/certs/ca-certificates.crt",
                             "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}) {
      ErrorCode absent;
      tls.load_verify_file(path, absent);
    }
    return {};
  }
  tls.load_verify_file(options.ca_certs, error);
  if (error) return InvalidArgument(StrCat("ca-certs: ", options.ca_certs, ": ", error.message()));
  return {};
}

Result<HttpResponse> FetchTls(Tcp::socket& socket, Waiter& waiter, const HttpUrl& url,
                              const http::request<http::string_body>& request,
                              const HttpClientOptions& options, const HttpBodySink& sink) {
  asio::ssl::context tls(asio::ssl::context::tls_client);
  QUIRE_RETURN_IF_ERROR(TrustCertificates(tls, options));
  asio::ssl::stream<Tcp::socket&> stream(socket, tls);
  stream.set_verify_mode(asio::ssl::verify_peer);
  stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
  SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  QUIRE_RETURN_IF_ERROR(waiter.Run("TLS handshake", [&](auto handler) {
    stream.async_handshake(asio::ssl::stream_base::client, std::move(handler));
  }));
  waiter.SetDeadline(std::nullopt);
  return Exchange(stream, waiter, options).Run(request, sink);
}

Result<HttpResponse> Fetch(const HttpUrl& url, const HttpClientRequest& request,
                           const HttpClientOptions& options, const HttpBodySink& sink) {
  asio::io_context io(1);
  Tcp::socket socket(io);
  Waiter waiter(io, socket, options);
  waiter.SetDeadline(Clock::now() + options.connect_timeout);
  QUIRE_RETURN_IF_ERROR(Connect(io, url, socket, waiter));
  const auto message = MakeRequest(url, request);
  if (url.is_tls) return FetchTls(socket, waiter, url, message, options, sink);
  waiter.SetDeadline(std::nullopt);
  return Exchange(socket, waiter, options).Run(message, sink);
}

}  // namespace

Result<HttpResponse> FetchHttp(const HttpUrl& url, const HttpClientRequest& request,
                               const HttpClientOptions& options, const HttpBodySink& sink) {
  Result<HttpResponse> response = Fetch(url, request, options, sink);
  if (response.status().code() != Code::kUnavailable) return response;
  return response.status().With(url.ToString());
}

}  // namespace quire
