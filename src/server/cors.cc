#include "server/cors.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/http_wire.h"

namespace quire {

namespace {

constexpr std::string_view kAllMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
constexpr std::string_view kExposed = "X-Request-Id, Retry-After, Warning";
constexpr std::string_view kMaxAgeSeconds = "600";

bool AllowsAll(const std::vector<std::string>& list) {
  return list.empty() || std::find(list.begin(), list.end(), "*") != list.end();
}

bool Holds(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Cors::Cors(CorsOptions options)
    : options_(std::move(options)), allows_all_origins_(AllowsAll(options_.origins)) {}

bool Cors::IsPreflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && !request.header("origin").empty() &&
         !request.header("access-control-request-method").empty();
}

bool Cors::AllowsOrigin(std::string_view origin) const {
  return allows_all_origins_ || Holds(options_.origins, origin);
}

// With credentials a browser does not take "*" for an answer.
std::string_view Cors::OriginFor(std::string_view origin) const {
  return allows_all_origins_ && !options_.allow_credentials ? "*" : origin;
}

HttpResponse Cors::AnswerPreflight(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  const std::string_view method = request.header("access-control-request-method");
  if (!AllowsOrigin(origin)) return ErrorResponse(400, "this origin may not call the server");
  if (!AllowsAll(options_.methods) && !Holds(options_.methods, method)) {
    return ErrorResponse(400, StrCat("pages may not use the method ", Printable(method)));
  }
  HttpResponse response{.status = 204, .content_type = ""};
  const auto add = [&](const char* name, std::string_view value) {
    response.headers.push_back({name, std::string(value)});
  };
  add("Access-Control-Allow-Methods",
      AllowsAll(options_.methods) ? std::string(kAllMethods) : Join(options_.methods, ", "));
  add("Access-Control-Allow-Headers", AllowsAll(options_.headers)
                                          ? request.header("access-control-request-headers")
                                          : Join(options_.headers, ", "));
  add("Access-Control-Max-Age", kMaxAgeSeconds);
  return response;
}

void Cors::AppendHeaders(const HttpRequest& request, std::string& out) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !AllowsOrigin(origin)) return;
  const std::string_view allowed = OriginFor(origin);
  AppendHeader("Access-Control-Allow-Origin", allowed, out);
  if (options_.allow_credentials) AppendHeader("Access-Control-Allow-Credentials", "true", out);
  AppendHeader("Access-Control-Expose-Headers", kExposed, out);
  if (allowed != "*") AppendHeader("Vary", "Origin", out);
}

}  // namespace quire
