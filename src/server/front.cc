#include "server/front.h"

#include <utility>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/http_wire.h"

namespace quire {

namespace {

HttpResponse Unauthorized(const HttpRequest& request, std::string_view message) {
  HttpResponse response = RefusalFor(request.path, 401, message);
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

}  // namespace

HttpFront::HttpFront(FrontOptions options) : options_(std::move(options)), cors_(options_.cors) {}

void HttpFront::SetRoutes(std::vector<Route> routes, WorkGate gate) {
  if (options_.admin_keys.empty()) {
    std::erase_if(routes, [](const Route& route) { return route.access == Access::kAdmin; });
  }
  auto table = std::make_shared<const Table>(Table{Router(std::move(routes)), std::move(gate)});
  MutexLock lock(mutex_);
  table_ = std::move(table);
}

std::shared_ptr<const HttpFront::Table> HttpFront::table() const {
  MutexLock lock(mutex_);
  return table_;
}

std::string HttpFront::MoreHeaders(const HttpRequest& request) const {
  std::string out;
  if (options_.sends_request_id) AppendHeader("X-Request-Id", request.request_id, out);
  cors_.AppendHeaders(request, out);
  return out;
}

std::shared_ptr<const HttpRequest> HttpFront::WithoutRoot(
    std::shared_ptr<const HttpRequest> request) const {
  const std::string& root = options_.root_path;
  if (root.empty() || !request->path.starts_with(root + "/")) return request;
  HttpRequest inner = *request;
  inner.path.erase(0, root.size());
  return std::make_shared<const HttpRequest>(std::move(inner));
}

void HttpFront::Handle(std::shared_ptr<const HttpRequest> request,
                       std::shared_ptr<HttpReply> reply) const {
  const std::shared_ptr<const Table> table = this->table();
  if (Cors::IsPreflight(*request)) return reply->Send(cors_.AnswerPreflight(*request));
  if (table == nullptr) return reply->Send(RefusalFor(request->path, 503, "the model is loading"));
  request = WithoutRoot(std::move(request));
  const Router::Match match = table->router.Find(request->method, request->path);
  if (match.route != nullptr) {
    if (auto refusal = Refusal(*match.route, table->gate, *request)) {
      return reply->Send(std::move(*refusal));
    }
    return match.route->handler(std::move(request), std::move(reply));
  }
  if (request->method == "OPTIONS" && (!match.allow.empty() || request->path == "*")) {
    HttpResponse response{.status = 204, .content_type = ""};
    response.headers.push_back(
        {"Allow", match.allow.empty() ? "GET, HEAD, OPTIONS, POST" : match.allow});
    return reply->Send(std::move(response));
  }
  if (match.allow.empty()) {
    return reply->Send(RefusalFor(request->path, 404,
                                  StrCat("there is no route ", Printable(request->method), " ",
                                         Printable(request->path, 200))));
  }
  HttpResponse response = RefusalFor(request->path, 405,
                                     StrCat(Printable(request->path, 200), " does not take ",
                                            Printable(request->method), ", only ", match.allow));
  response.headers.push_back({"Allow", match.allow});
  reply->Send(std::move(response));
}

std::optional<HttpResponse> HttpFront::Refusal(const Route& route, const WorkGate& gate,
                                               const HttpRequest& request) const {
  if (route.access == Access::kAdmin && !options_.admin_keys.Admits(request)) {
    return Unauthorized(request, "this route needs the admin key");
  }
  if (route.access == Access::kKey && !options_.keys.empty() && !options_.keys.Admits(request) &&
      !options_.admin_keys.Admits(request)) {
    return Unauthorized(request, "a valid API key is needed: Authorization: Bearer KEY");
  }
  const bool starts_work = route.method == "POST" && route.access == Access::kKey;
  if (!starts_work || !gate) return std::nullopt;
  const std::string_view why = gate();
  if (why.empty()) return std::nullopt;
  return RefusalFor(request.path, 503, why);
}

}  // namespace quire
