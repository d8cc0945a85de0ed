#include "server/serve.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "engine/async_engine.h"
#include "server/api_error.h"
#include "server/front.h"
#include "server/http_server.h"
#include "server/listener.h"
#include "server/tls.h"

namespace quire {

namespace {

constexpr int kMaxIoThreads = 4;       // by itself; more only where a flag asks
constexpr long kFilesForOthers = 256;  // of the limit of open files, not for connections
constexpr std::chrono::milliseconds kStopGrain{5};
constexpr std::chrono::milliseconds kLastBytes{200};

using Files = std::vector<std::filesystem::file_time_type>;

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

int NumIoThreads(int wanted) {
  if (wanted > 0) return wanted;
  const int num_cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(num_cores / 2, 1, kMaxIoThreads);
}

Result<FrontOptions> MakeFrontOptions(const ServerConfig& config) {
  const AccessOptions& access = config.access;
  std::vector<std::string> keys = access.api_keys;
  if (!access.api_key_file.empty()) {
    Result<std::vector<std::string>> more = ReadKeyFile(access.api_key_file);
    if (!more.ok()) return more.status().With("--api-key-file");
    keys.insert(keys.end(), more->begin(), more->end());
  }
  if (access.enable_admin && access.admin_key.empty()) {
    return InvalidArgument("--enable-admin: needs --admin-key or QUIRE_ADMIN_KEY");
  }
  KeyRing ring(keys);
  if (access.enable_admin && ring.Accepts(access.admin_key)) {
    return InvalidArgument("--admin-key: must be none of the keys that clients have");
  }
  std::string root = config.listen.root_path;
  while (root.ends_with('/')) root.pop_back();
  if (!root.empty() && root.front() != '/') {
    return InvalidArgument(StrCat("--root-path: must begin with /, got ", Printable(root)));
  }
  FrontOptions options{.keys = std::move(ring),
                       .cors = {.origins = access.allowed_origins,
                                .methods = access.allowed_methods,
                                .headers = access.allowed_headers,
                                .allow_credentials = access.allow_credentials},
                       .root_path = std::move(root),
                       .sends_request_id = config.routes.enable_request_id_headers};
  if (access.enable_admin) options.admin_keys = KeyRing({access.admin_key});
  return options;
}

void SetLimits(const LimitOptions& limits, HttpService& service) {
  service.limits = {.max_header_bytes = static_cast<std::size_t>(limits.max_header_bytes),
                    .max_headers = limits.max_headers,
                    .max_body_bytes = static_cast<std::size_t>(limits.max_body_bytes)};
  service.max_send_buffer = static_cast<std::size_t>(limits.max_send_buffer_bytes);
  service.header_timeout = Milliseconds(limits.header_timeout);
  service.body_timeout = Milliseconds(limits.body_timeout);
  service.keep_alive_timeout = Milliseconds(limits.keep_alive_timeout);
  service.write_timeout = Milliseconds(limits.write_timeout);
  service.comment_interval = std::chrono::seconds(limits.sse_keep_alive_interval);
  service.request_timeout = Milliseconds(limits.request_timeout);
}

std::int64_t MaxConnections(int wanted) {
  const std::int64_t possible = std::max(16L, RaiseFileLimit() - kFilesForOthers);
  return wanted == 0 ? possible : std::min<std::int64_t>(wanted, possible);
}

// When the files of TLS were last written; those that cannot be seen count as never.
Files WrittenAt(const TlsOptions& tls) {
  Files times;
  for (const std::string& file : {tls.keyfile, tls.certfile, tls.ca_certs}) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    times.push_back(error ? std::filesystem::file_time_type::min() : time);
  }
  return times;
}

}  // namespace

struct Server::State {
  State(const ServerConfig& given, FrontOptions options)
      : config(given), front(std::move(options)) {}

  std::string HostForUrls() const;

  const ServerConfig config;
  std::atomic<bool> is_draining = false;
  HttpFront front;
  HttpService service;
  Mutex mutex;
  Files tls_files QUIRE_GUARDED_BY(mutex);
  std::unique_ptr<HttpServer> http;  // last: its threads use all of the above
};

// A wildcard is no address to connect to.
std::string Server::State::HostForUrls() const {
  const std::string& host = config.listen.host;
  if (host.empty() || host == "0.0.0.0") return "127.0.0.1";
  if (host == "::") return "[::1]";
  return host.find(':') == std::string::npos ? host : StrCat("[", host, "]");
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { Stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<Server>> Server::Start(const ServerConfig& config,
                                              std::function<void(const HttpAccess&)> on_answered) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  QUIRE_ASSIGN_OR_RETURN(FrontOptions front_options, MakeFrontOptions(config));
  HttpServer::Options options{.num_threads = NumIoThreads(config.listen.io_threads),
                              .max_connections = MaxConnections(config.limits.max_connections)};
  auto state = std::make_unique<State>(config, std::move(front_options));
  if (!config.tls.certfile.empty()) {
    QUIRE_ASSIGN_OR_RETURN(options.tls, LoadTls(config.tls));
    MutexLock lock(state->mutex);
    state->tls_files = WrittenAt(config.tls);
  }
  QUIRE_ASSIGN_OR_RETURN(Listener listener,
                         config.listen.uds.empty()
                             ? Listener::OnTcp(config.listen.host, config.listen.port)
                             : Listener::OnUnix(config.listen.uds));
  HttpService& service = state->service;
  SetLimits(config.limits, service);
  service.handler = [front = &state->front](auto request, auto reply) {
    front->Handle(std::move(request), std::move(reply));
  };
  service.more_headers = [front = &state->front](const HttpRequest& request) {
    return front->MoreHeaders(request);
  };
  service.on_answered = std::move(on_answered);
  QUIRE_ASSIGN_OR_RETURN(state->http, HttpServer::Start(std::move(listener), service, options));
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

void Server::Serve(std::vector<Route> routes, ControlSources sources) {
  // A paused engine would let a client wait for nobody knows how long.
  sources.why_refused = [state = state_.get(), source = sources.engine]() -> std::string_view {
    if (state->is_draining.load(std::memory_order_relaxed)) return "the server is shutting down";
    const std::shared_ptr<AsyncEngine> engine = source ? source() : nullptr;
    return engine != nullptr && engine->is_paused() ? "the engine is paused" : "";
  };
  if (state_->config.routes.enable_server_load_tracking) {
    sources.num_active = [service = &state_->service] {
      return service->num_active.load(std::memory_order_relaxed);
    };
  }
  sources.metrics_need_key = !state_->config.access.metrics_no_auth;
  for (Route& route : ControlRoutes(sources)) routes.push_back(std::move(route));
  state_->front.SetRoutes(std::move(routes), sources.why_refused);
}

std::string Server::address() const {
  const ServerConfig& config = state_->config;
  if (!config.listen.uds.empty()) return StrCat("unix:", config.listen.uds);
  return StrCat(config.tls.certfile.empty() ? "http://" : "https://", state_->HostForUrls(), ":",
                port());
}

const std::string& Server::root_path() const { return state_->front.root_path(); }

int Server::port() const { return state_->http == nullptr ? 0 : state_->http->port(); }

std::int64_t Server::num_active() const {
  return state_->service.num_active.load(std::memory_order_relaxed);
}

std::int64_t Server::num_connections() const {
  return state_->service.num_connections.load(std::memory_order_relaxed);
}

Status Server::ReloadTls() {
  const TlsOptions& options = state_->config.tls;
  if (options.certfile.empty()) return {};
  Files files = WrittenAt(options);
  QUIRE_ASSIGN_OR_RETURN(TlsContext context, LoadTls(options));
  state_->http->SetTls(std::move(context));
  MutexLock lock(state_->mutex);
  state_->tls_files = std::move(files);
  return {};
}

bool Server::TlsHasChanged() const {
  const TlsOptions& options = state_->config.tls;
  if (options.certfile.empty()) return false;
  MutexLock lock(state_->mutex);
  return WrittenAt(options) != state_->tls_files;
}

void Server::BeginDrain() { state_->is_draining.store(true, std::memory_order_relaxed); }

void Server::Stop(std::chrono::milliseconds patience) {
  if (state_->http == nullptr) return;
  BeginDrain();
  state_->http->EndRequests(503, "the server is shutting down");
  state_->http->CloseIdle();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto wait_while = [&](auto is_left, std::chrono::steady_clock::time_point until) {
    while (is_left() > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kStopGrain);
    }
  };
  wait_while([this] { return num_active(); }, deadline);
  // What was sent last may still be on its way; a client that keeps its end open is not waited for.
  wait_while([this] { return num_connections(); },
             std::min(deadline, std::chrono::steady_clock::now() + kLastBytes));
  state_->http.reset();
}

}  // namespace quire
