// quire serve: the server over one model, from the command line to the last signal.
#include "server/serve.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "apps/quire/command.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/request_log.h"
#include "apps/quire/serve_flags.h"
#include "apps/quire/tokenizer_source.h"
#include "base/log.h"
#include "base/log_format.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "engine/async_engine.h"
#include "formats/json.h"
#include "metrics/registry.h"
#include "server/access_log.h"
#include "server/api.h"
#include "server/control_routes.h"
#include "server/http_metrics.h"
#include "server/notify.h"
#include "tokenizer/chat_template.h"

namespace quire {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kStatsInterval{10};  // between lines about load and speed
constexpr milliseconds kStopPatience{2'000};        // for clients to take their last bytes
constexpr milliseconds kDrainGrain{20};             // between looks while draining
constexpr milliseconds kRefreshGrain{1'000};        // between looks at the files of TLS

std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return value == nullptr ? "" : value;
}

// The signals that the main thread waits for; no other thread hears them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  // The next signal; 0 once `patience` has passed, which is for ever where it is negative.
  int Wait(milliseconds patience) const {
    if (patience.count() < 0) {
      int signal = 0;
      return sigwait(&set_, &signal) == 0 ? signal : 0;
    }
    const timespec time = {.tv_sec = patience.count() / 1000,
                           .tv_nsec = patience.count() % 1000 * 1'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &time);
    return signal < 0 ? 0 : signal;
  }

 private:
  sigset_t set_;
};

// The engine as the routes see it: there from the end of loading until the end.
class EngineSlot {
 public:
  void Set(std::shared_ptr<AsyncEngine> engine) {
    MutexLock lock(mutex_);
    engine_.swap(engine);
  }
  std::shared_ptr<AsyncEngine> Get() {
    MutexLock lock(mutex_);
    return engine_;
  }

 private:
  Mutex mutex_;
  std::shared_ptr<AsyncEngine> engine_ QUIRE_GUARDED_BY(mutex_);
};

// "…/SmolLM2.Q4_1.gguf" as clients call it.
std::string ServedName(const ServeConfig& config) {
  const std::vector<std::string>& names = config.server.routes.served_model_names;
  return names.empty() ? config.model_name : names.front();
}

void LogAccess(const LogOptions& options, const HttpAccess& access) {
  if (options.disable_access_log) return;
  for (const std::string_view path : Split(options.quiet_paths, ',')) {
    if (path == access.path) return;
  }
  QUIRE_LOG(kInfo) << AccessLine(access);
}

// Commands that a reader can paste.
std::string FirstRequest(const Server& server, const ServeConfig& config) {
  std::string url = server.address();
  std::string options;
  if (url.starts_with("unix:")) {
    options += StrCat(" --unix-socket ", url.substr(5));
    url = "http://localhost";
  }
  if (url.starts_with("https:")) options += " -k";
  if (config.needs_key) options += " -H \"Authorization: Bearer $QUIRE_API_KEY\"";
  Json message;
  message["role"] = Json("user");
  message["content"] = Json("What is the capital of France?");
  Json body;
  body["model"] = Json(ServedName(config));
  body["messages"] = Json(JsonArray{message});
  return StrCat("curl", options, " ", url, server.root_path(),
                "/v1/chat/completions -H 'Content-Type: application/json' -d '", body.Dump(), "'");
}

void SayReady(const Server& server, const ServeConfig& config) {
  Tell(StrCat("quire: serving ", ServedName(config), " at ", server.address()));
  Tell(FirstRequest(server, config));
  NotifyServiceManager(config.notify_socket,
                       StrCat("READY=1\nSTATUS=serving at ", server.address()));
}

void Reload(Server& server) {
  const Status status = server.ReloadTls();
  if (status.ok()) {
    QUIRE_LOG(kInfo) << "key and certificate are read again";
  } else {
    QUIRE_LOG(kError) << "key and certificate stay as they were: " << status.message();
  }
}

// Until a signal to end.
void ServeUntilSignal(const Signals& signals, Server& server, const ServeConfig& config) {
  const bool looks_at_files = config.server.tls.enable_refresh;
  while (true) {
    const int signal = signals.Wait(looks_at_files ? kRefreshGrain : milliseconds(-1));
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP || (signal == 0 && looks_at_files && server.TlsHasChanged())) {
      Reload(server);
    }
  }
}

// Lets requests under way finish, until the time is up or a second signal comes.
void Drain(const Signals& signals, Server& server, double seconds) {
  server.BeginDrain();
  const auto deadline =
      std::chrono::steady_clock::now() + milliseconds(static_cast<std::int64_t>(seconds * 1000));
  if (server.num_active() == 0) return;
  QUIRE_LOG(kInfo) << server.num_active() << " requests are under way; they have " << seconds
                   << " s";
  while (server.num_active() > 0 && std::chrono::steady_clock::now() < deadline) {
    const int signal = signals.Wait(kDrainGrain);
    if (signal == SIGTERM || signal == SIGINT) return;
  }
}

// `slot` outlives the engine and has it once it is loaded.
Result<std::shared_ptr<AsyncEngine>> LoadAsyncEngine(const ServeConfig& serve, EngineSlot& slot) {
  EngineConfig config = serve.engine;
  QUIRE_RETURN_IF_ERROR(config.Validate());
  QUIRE_RETURN_IF_ERROR(LocateFiles(config));
  const LogOptions& log = serve.server.log;
  AsyncOptions options = {
      .input_threads = serve.server.listen.input_threads,
      .served_name = ServedName(serve),
      .log_interval = log.disable_stats ? std::chrono::seconds(0) : kStatsInterval};
  if (log.log_requests) {
    options.on_prompt = [&slot, limit = log.max_log_len](const std::string& id,
                                                         const EngineRequest& request) {
      const auto serving = slot.Get();
      const bool has_text = serving != nullptr && serving->has_tokenizer();
      LogRequest(id, request, has_text ? &serving->tokenizer() : nullptr, limit);
    };
  }
  if (log.log_outputs) {
    options.on_output =
        [answers = std::make_shared<AnswerLog>(log.max_log_len)](const RequestOutput& output) {
          for (const std::string& line : answers->Hear(output)) QUIRE_LOG(kInfo) << line;
        };
  }
  QUIRE_ASSIGN_OR_RETURN(auto engine, AsyncEngine::Create(config, options, MakeLoadBar()));
  QUIRE_LOG(kInfo) << engine->decisions().summary;
  return std::shared_ptr<AsyncEngine>(std::move(engine));
}

// The text of the template that --chat-template names; empty where it names none.
Result<std::string> ChatTemplateText(const std::string& wanted, const AsyncEngine& engine) {
  if (wanted.empty() || !engine.has_tokenizer()) return std::string();
  QUIRE_ASSIGN_OR_RETURN(const ChatTemplate chosen, ChooseChatTemplate(wanted, engine.tokenizer()));
  return std::string(chosen.source());
}

ApiOptions MakeApiOptions(const ServeConfig& config) {
  const RouteOptions& routes = config.server.routes;
  const EngineConfig& engine = config.engine;
  ApiOptions options{
      .served_model_names = routes.served_model_names,
      .model_root = config.model_name,
      .version = config.version,
      .chat_template_content_format = std::string(ToString(routes.chat_template_content_format)),
      .trust_request_chat_template = routes.trust_request_chat_template,
      .default_chat_template_kwargs = routes.default_chat_template_kwargs,
      .response_role = routes.response_role,
      .tool_call_parser = routes.enable_auto_tool_choice ? routes.tool_call_parser : "",
      .exclude_tools_when_tool_choice_none = routes.exclude_tools_when_tool_choice_none,
      .reasoning_parser = routes.reasoning_parser,
      .enable_in_reasoning = engine.structured.enable_in_reasoning(),
      .strict_fields = routes.strict_fields,
      .return_tokens_as_token_ids = routes.return_tokens_as_token_ids,
      .enable_prompt_tokens_details = routes.enable_prompt_tokens_details,
      .enable_force_include_usage = routes.enable_force_include_usage,
      .enable_docs = !routes.disable_docs,
      .allow_priority = engine.scheduler.policy == SchedulingPolicy::kPriority,
      .max_body_bytes = static_cast<std::size_t>(config.server.limits.max_body_bytes)};
  if (options.served_model_names.empty()) options.served_model_names = {config.model_name};
  return options;
}

void SetUpLog(const LogOptions& options) {
  SetLogFormat(options.format == ServerLogFormat::kJson ? LogFormat::kJson : LogFormat::kText);
  switch (options.level) {
    case ServerLogLevel::kDebug:
      return SetLogLevel(LogLevel::kDebug);
    case ServerLogLevel::kInfo:
      return SetLogLevel(LogLevel::kInfo);
    case ServerLogLevel::kWarning:
      return SetLogLevel(LogLevel::kWarning);
    case ServerLogLevel::kError:
      return SetLogLevel(LogLevel::kError);
  }
}

// What is counted of the server itself, from the time when its routes are known.
class ServerCounts {
 public:
  void Begin(std::vector<Route> routes, const ControlSources& control) {
    for (Route& route : ControlRoutes(control)) routes.push_back(std::move(route));
    metrics_.emplace(registry_, std::move(routes));
    is_counting_ = true;
  }
  void Note(const HttpAccess& access) {
    if (is_counting_) metrics_->Note(access);
  }
  std::string Expose() const { return registry_.Expose(); }

 private:
  MetricRegistry registry_;
  std::optional<HttpMetrics> metrics_;
  std::atomic<bool> is_counting_ = false;
};

Status Run(const ServeConfig& config) {
  SetUpLog(config.server.log);
  ServerCounts counts;
  const Signals signals;  // before the first thread, which inherits them blocked
  QUIRE_ASSIGN_OR_RETURN(
      const auto server,
      Server::Start(config.server, [&counts, log = config.server.log](const HttpAccess& access) {
        counts.Note(access);
        LogAccess(log, access);
      }));
  EngineSlot slot;
  QUIRE_ASSIGN_OR_RETURN(auto engine, LoadAsyncEngine(config, slot));
  slot.Set(engine);
  ApiOptions api_options = MakeApiOptions(config);
  QUIRE_ASSIGN_OR_RETURN(api_options.chat_template,
                         ChatTemplateText(config.engine.model.chat_template, *engine));
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Api> api,
                         Api::Create(std::move(api_options), [&slot] { return slot.Get(); }));
  const ControlSources control = {.engine = [&slot] { return slot.Get(); },
                                  .metrics =
                                      [&slot, &counts] {
                                        const auto serving = slot.Get();
                                        const std::string page = counts.Expose();
                                        return serving ? serving->metrics().Expose() + page : page;
                                      },
                                  .version = config.version};
  counts.Begin(api->Routes(), control);
  server->Serve(api->Routes(), control);
  SayReady(*server, config);
  ServeUntilSignal(signals, *server, config);
  NotifyServiceManager(config.notify_socket, "STOPPING=1");
  Drain(signals, *server, config.server.limits.shutdown_timeout);
  slot.Set(nullptr);
  engine->Shutdown(milliseconds(0));  // what still runs hears of its end as an error
  server->Stop(kStopPatience);
  return {};
}

}  // namespace

Status RunServe(Args args) {
  ServeConfig config;
  config.notify_socket = Environment("NOTIFY_SOCKET");
  QUIRE_ASSIGN_OR_RETURN(const bool runs, ReadServeFlags(args, config));
  return runs ? Run(config) : Status();
}

}  // namespace quire
