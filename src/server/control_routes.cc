#include "server/control_routes.h"

#include <utility>

#include "base/strings.h"
#include "formats/json.h"
#include "metrics/registry.h"
#include "server/api_error.h"
#include "server/http_target.h"

namespace quire {

namespace {

using Request = std::shared_ptr<const HttpRequest>;
using Reply = std::shared_ptr<HttpReply>;
using EngineSource = std::function<std::shared_ptr<AsyncEngine>()>;

HttpResponse Empty() { return {.content_type = ""}; }

HttpResponse OneMember(std::string name, Json value) {
  JsonObject object;
  object.emplace_back(std::move(name), std::move(value));
  return {.body = Json(std::move(object)).Dump()};
}

// Whether a request would be served: 200 with nothing in it, or 503 that says why not.
HttpHandler Health(const ControlSources& sources) {
  return [sources](const Request&, const Reply& reply) {
    const std::string_view why = sources.why_refused();
    if (!why.empty()) return reply->Send(ErrorResponse(503, why));
    const std::shared_ptr<AsyncEngine> engine = sources.engine();
    if (engine == nullptr) return reply->Send(ErrorResponse(503, "no engine is running"));
    if (!engine->is_healthy()) {
      return reply->Send(ErrorResponse(503, "the engine has failed or starts again"));
    }
    reply->Send(Empty());
  };
}

// Answers with the outcome of a call of the engine.
AsyncEngine::CallOutcome Answer(Reply reply) {
  return [reply = std::move(reply)](const Status& outcome) {
    reply->Send(outcome.ok() ? Empty() : ErrorResponse(outcome));
  };
}

// `act` on the engine that serves.
HttpHandler WithEngine(const EngineSource& source,
                       std::function<void(AsyncEngine&, const Request&, Reply)> act) {
  return [source, act = std::move(act)](const Request& request, const Reply& reply) {
    const std::shared_ptr<AsyncEngine> engine = source();
    if (engine == nullptr) return reply->Send(ErrorResponse(503, "no engine is running"));
    act(*engine, request, reply);
  };
}

// The running requests give their blocks back and the cache is emptied; then nothing is computed
// until the engine wakes up, and the requests go on as if nothing had been.
void Sleep(AsyncEngine& engine, const Request& request, Reply reply) {
  const std::string level = QueryValue(request->query, "level").value_or("1");
  if (level != "1" && level != "2") {
    return reply->Send(
        ErrorResponse(400, StrCat("level: must be 1 or 2, got ", Printable(level)), "level"));
  }
  engine.Pause(PauseMode::kPreempt, {});
  engine.metrics().SetSleepLevel(level == "1" ? 1 : 2);
  engine.ResetPrefixCache(true, Answer(std::move(reply)));
}

void ResetPrefixCache(AsyncEngine& engine, const Request& request, Reply reply) {
  const std::string running =
      QueryValue(request->query, "reset_running_requests").value_or("false");
  engine.ResetPrefixCache(running == "true" || running == "1", Answer(std::move(reply)));
}

// {"request_id": "…"} or {"request_ids": ["…", …]}
Result<std::vector<std::string>> AbortedIds(const std::string& body) {
  constexpr int kMaxDepth = 4;
  QUIRE_ASSIGN_OR_RETURN(const Json json, ParseJson(body, {.max_depth = kMaxDepth}));
  if (const Json* id = json.Find("request_id"); id != nullptr && id->is_string()) {
    return std::vector<std::string>{id->string()};
  }
  const Json* list = json.Find("request_ids");
  if (list == nullptr || !list->is_array()) {
    return InvalidArgument("request_ids: must be a list of ids of requests");
  }
  std::vector<std::string> ids;
  for (const Json& id : list->array()) {
    if (!id.is_string()) {
      return InvalidArgument(StrCat("request_ids: must hold strings, got ", id.kind()));
    }
    ids.push_back(id.string());
  }
  return ids;
}

// Ends the request of that id, or those of a client that called them so; whether there was one.
bool AbortOne(AsyncEngine& engine, const std::string& id) {
  if (engine.AbortNamed(id, false) > 0) return true;
  int num_aborted = 0;
  for (const char* prefix : {"cmpl-", "chatcmpl-", "resp_", "msg_", "generate-tokens-"}) {
    num_aborted += engine.AbortNamed(prefix + id, true);
  }
  return num_aborted > 0;
}

// Answers with the ids of which there were requests, and the others.
void Abort(AsyncEngine& engine, const Request& request, const Reply& reply) {
  const auto ids = AbortedIds(request->body);
  if (!ids.ok()) return reply->Send(ErrorResponse(ids.status()));
  Json outcome;
  Json& aborted = outcome["aborted"] = Json(JsonArray{});
  JsonArray unknown;
  for (const std::string& id : *ids) {
    if (AbortOne(engine, id)) {
      aborted.array().emplace_back(id);
    } else {
      unknown.emplace_back(id);
    }
  }
  outcome["unknown"] = Json(std::move(unknown));
  reply->Send({.body = outcome.Dump()});
}

void AddAdminRoutes(const EngineSource& engine, std::vector<Route>& routes) {
  const auto add = [&](const char* method, const char* path, auto act) {
    routes.push_back({method, path, Access::kAdmin, WithEngine(engine, act)});
  };
  const auto resume = [](AsyncEngine& e, const Request&, Reply reply) {
    e.metrics().SetSleepLevel(0);
    e.Resume(Answer(std::move(reply)));
  };
  const auto tell = [](const char* name) {
    return [name](AsyncEngine& e, const Request&, const Reply& reply) {
      reply->Send(OneMember(name, Json(e.is_paused())));
    };
  };
  add("POST", "/sleep", Sleep);
  add("POST", "/wake_up", resume);
  add("GET", "/is_sleeping", tell("is_sleeping"));
  add("POST", "/pause", [](AsyncEngine& e, const Request&, Reply reply) {
    e.Pause(PauseMode::kKeep, Answer(std::move(reply)));
  });
  add("POST", "/resume", resume);
  add("GET", "/is_paused", tell("is_paused"));
  add("POST", "/reset_prefix_cache", ResetPrefixCache);
  add("POST", "/abort", Abort);
}

}  // namespace

std::vector<Route> ControlRoutes(const ControlSources& sources) {
  std::vector<Route> routes;
  const HttpHandler health = Health(sources);
  routes.push_back({"GET", "/health", Access::kOpen, health});
  routes.push_back({"GET", "/ping", Access::kOpen, health});
  routes.push_back({"POST", "/ping", Access::kOpen, health});
  routes.push_back({"GET", "/version", Access::kKey,
                    [version = sources.version](const Request&, const Reply& reply) {
                      reply->Send(OneMember("version", Json(version)));
                    }});
  if (sources.num_active) {
    routes.push_back({"GET", "/load", Access::kKey,
                      [num_active = sources.num_active](const Request&, const Reply& reply) {
                        reply->Send(OneMember("server_load", Json(num_active() - 1)));
                      }});
  }
  if (sources.metrics) {
    routes.push_back({"GET", "/metrics", sources.metrics_need_key ? Access::kKey : Access::kOpen,
                      [metrics = sources.metrics](const Request&, const Reply& reply) {
                        reply->Send(
                            {.content_type = std::string(kMetricsContentType), .body = metrics()});
                      }});
  }
  AddAdminRoutes(sources.engine, routes);
  return routes;
}

}  // namespace quire
