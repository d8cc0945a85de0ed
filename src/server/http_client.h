// Requests to another HTTP server: one connection each, plain or with TLS.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/http.h"

namespace quire {

struct HttpUrl {
  bool is_tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;  // "443" where the URL has none and is https
  std::string path;  // "" or "/a/b", without a slash at its end

  // "https://host:port/a/b", for messages.
  std::string ToString() const;
};

// An http:// or https:// URL without user, query and fragment; "host:port" alone counts as http.
// kInvalidArgument says what is wrong.
Result<HttpUrl> ParseHttpUrl(std::string_view url);

struct HttpClientOptions {
  std::string ca_certs;  // PEM file of who may have signed the server; empty: who the system trusts
  std::chrono::milliseconds connect_timeout{10'000};   // connecting and the TLS handshake
  std::size_t max_error_bytes = std::size_t{1} << 20;  // kept of the body of a refusal
  // Asked ten times a second; true closes the connection.
  std::function<bool()> should_stop;
};

struct HttpClientRequest {
  std::string method = "GET";
  std::string target;  // path and query
  std::vector<HttpHeader> headers;
  std::string body;
};

// Hears the body of an answer as it comes; a failure ends the exchange and is its result.
using HttpBodySink = std::function<Status(std::string_view bytes)>;

// Sends the request and reads the answer. The body of an answer of status 200 to 299 goes to
// `sink`; that of another one is in the result. Redirects are not followed.
//
//   kUnavailable      no connection, a broken one, or an answer that is no HTTP
//   kCancelled        should_stop; without a message
//   kInvalidArgument  ca_certs cannot be read
//
// Blocks; looking a host name up is not interrupted by should_stop. Any thread.
Result<HttpResponse> FetchHttp(const HttpUrl& url, const HttpClientRequest& request,
                               const HttpClientOptions& options, const HttpBodySink& sink);

}  // namespace quire
