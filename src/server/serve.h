// A server from its first client to its last: what `quire serve` runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/server_config.h"
#include "server/control_routes.h"
#include "server/http.h"
#include "server/http_connection.h"

namespace quire {

// Listens from the start; answers 503 until Serve says what it serves.
class Server {
 public:
  // kInvalidArgument: an address, a key file or a certificate cannot be used; names the flag.
  // `on_answered` hears of every answered request, on the threads of the server; may be empty.
  static Result<std::unique_ptr<Server>> Start(
      const ServerConfig& config, std::function<void(const HttpAccess&)> on_answered = {});
  // Stop(0).
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // From now on `routes` and those of ControlRoutes are there; `why_refused` and `num_active` of
  // `sources` are the server's own to set.
  void Serve(std::vector<Route> routes, ControlSources sources);

  // "http://127.0.0.1:8000", or "unix:/path".
  std::string address() const;
  int port() const;
  const std::string& root_path() const;  // without a slash at its end
  std::int64_t num_active() const;       // requests that are being answered
  std::int64_t num_connections() const;

  // Reads key and certificate again, for connections to come. What there was stays on an error.
  Status ReloadTls();
  // Whether their files have changed since they were read.
  bool TlsHasChanged() const;

  // What would start work is answered 503 from now on, /health too; the rest goes on.
  void BeginDrain();
  // Ends requests that are still being answered with an error, waits up to `patience` until their
  // clients have it, and closes everything. Any thread but the server's, once.
  void Stop(std::chrono::milliseconds patience);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
