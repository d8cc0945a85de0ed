// Counts of answered requests under the names of the original server's metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/registry.h"
#include "server/http.h"
#include "server/http_connection.h"
#include "server/router.h"

namespace quire {

// Any thread.
class HttpMetrics {
 public:
  // `routes` are those whose paths may stand as a `handler`; others count as "none". The registry
  // outlives this.
  HttpMetrics(MetricRegistry& registry, std::vector<Route> routes);

  void Note(const HttpAccess& access);

 private:
  const Router router_;
  MetricFamily<Counter>& requests_;
  MetricFamily<Summary>& request_bytes_;
  MetricFamily<Summary>& response_bytes_;
  Histogram& fine_duration_;
  MetricFamily<Histogram>& duration_;
};

}  // namespace quire
