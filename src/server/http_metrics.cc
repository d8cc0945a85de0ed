#include "server/http_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

std::vector<double> FineBounds() {
  return {0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0,  1.5, 2.0,
          2.5,  3.0,   3.5,  4.0,   4.5, 5.0,  7.5, 10.0, 30.0, 60.0};
}

// A client may send anything for a method.
std::string_view KnownMethod(std::string_view method) {
  constexpr std::array<std::string_view, 7> kMethods = {"GET",   "POST",    "PUT", "DELETE",
                                                        "PATCH", "OPTIONS", "HEAD"};
  return std::ranges::find(kMethods, method) == kMethods.end() ? "other" : method;
}

}  // namespace

HttpMetrics::HttpMetrics(MetricRegistry& registry, std::vector<Route> routes)
    : router_(std::move(routes)),
      requests_(registry.AddCounter({.name = "http_requests",
                                     .help = "Requests answered",
                                     .labels = {"method", "status", "handler"}})),
      request_bytes_(registry.AddSummary({.name = "http_request_size_bytes",
                                          .help = "Bytes of the bodies of requests",
                                          .labels = {"handler"}})),
      response_bytes_(registry.AddSummary({.name = "http_response_size_bytes",
                                           .help = "Bytes of the bodies of answers",
                                           .labels = {"handler"}})),
      fine_duration_(registry
                         .AddHistogram({.name = "http_request_duration_highr_seconds",
                                        .help = "Time from a request to its whole answer",
                                        .labels = {},
                                        .bounds = FineBounds()})
                         .With({})),
      duration_(registry.AddHistogram({.name = "http_request_duration_seconds",
                                       .help = "The same, by handler",
                                       .labels = {"method", "handler"},
                                       .bounds = {0.1, 0.5, 1.0}})) {}

void HttpMetrics::Note(const HttpAccess& access) {
  const Router::Match match = router_.Find(access.method, access.path);
  std::string_view handler = "none";
  if (match.route != nullptr) handler = match.route->path;
  const std::string_view method = KnownMethod(access.method);
  const std::string status = StrCat(access.status / 100, "xx");
  const double seconds = std::chrono::duration<double>(access.duration).count();
  requests_.With({method, status, handler}).Add();
  request_bytes_.With({handler}).Observe(static_cast<double>(access.num_request_bytes));
  response_bytes_.With({handler}).Observe(static_cast<double>(access.num_response_bytes));
  fine_duration_.Observe(seconds);
  duration_.With({method, handler}).Observe(seconds);
}

}  // namespace quire
