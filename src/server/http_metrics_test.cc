#include "server/http_metrics.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quire {
namespace {

std::vector<Route> Routes() {
  return {{"GET", "/v1/models", Access::kKey, {}}, {"GET", "/v1/responses/{id}", Access::kKey, {}}};
}

TEST(HttpMetrics, NamesTheHandlerAndNotWhatTheClientWrote) {
  MetricRegistry registry;
  HttpMetrics metrics(registry, Routes());
  for (int i = 0; i < 100; ++i) {
    metrics.Note({.method = "GET",
                  .path = StrCat("/v1/responses/", i),
                  .status = 200,
                  .num_response_bytes = 10,
                  .duration = std::chrono::milliseconds(20)});
    metrics.Note({.method = StrCat("X", i), .path = StrCat("/", i), .status = 404});
  }
  const std::string page = registry.Expose();
  for (const char* line :
       {"http_requests_total{handler=\"/v1/responses/{id}\",method=\"GET\",status=\"2xx\"} 100.0\n",
        "http_requests_total{handler=\"none\",method=\"other\",status=\"4xx\"} 100.0\n",
        "http_response_size_bytes_sum{handler=\"/v1/responses/{id}\"} 1000.0\n",
        "http_request_duration_highr_seconds_bucket{le=\"0.025\"} 200.0\n",
        "http_request_duration_seconds_count{handler=\"none\",method=\"other\"} 100.0\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
}

}  // namespace
}  // namespace quire
