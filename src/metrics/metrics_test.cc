#include <cmath>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "metrics/process_metrics.h"
#include "metrics/registry.h"

namespace quire {
namespace {

std::string Value(double value) {
  std::string out;
  AppendMetricValue(value, out);
  return out;
}

// The page without the lines that name a moment.
std::string PageWithoutCreated(const MetricRegistry& registry) {
  std::string out;
  const std::string page = registry.Expose();
  for (const std::string_view line : Split(page, '\n')) {
    if (line.empty() || line.find("_created") != std::string_view::npos) continue;
    out += line;
    out += '\n';
  }
  return out;
}

// Expectations are what Python's prometheus_client 0.26 writes for these numbers.
TEST(Exposition, WritesNumbersAsTheOriginalClientDoes) {
  EXPECT_EQ(Value(0), "0.0");
  EXPECT_EQ(Value(3), "3.0");
  EXPECT_EQ(Value(-3), "-3.0");
  EXPECT_EQ(Value(12.89), "12.89");
  EXPECT_EQ(Value(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(Value(0.0001), "0.0001");
  EXPECT_EQ(Value(0.00001), "1e-05");
  EXPECT_EQ(Value(999999), "999999.0");
  EXPECT_EQ(Value(1000000), "1e+06");
  EXPECT_EQ(Value(4614127616.0), "4.614127616e+09");
  EXPECT_EQ(Value(1.7959757056214244e+09), "1.7959757056214244e+09");
  EXPECT_EQ(Value(1.25e10), "1.25e+10");
  EXPECT_EQ(Value(1e16), "1e+16");
  EXPECT_EQ(Value(-1e7), "-10000000.0");
  EXPECT_EQ(Value(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(Value(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(Value(std::nan("")), "NaN");
}

TEST(Exposition, EscapesWhatAQuotedTextCannotHold) {
  EXPECT_EQ(FormatMetricLabels({{"a", "x\"y\\z\n"}, {"b", ""}}), R"({a="x\"y\\z\n",b=""})");
  EXPECT_EQ(FormatMetricLabels({}), "");
}

TEST(Registry, ShowsEachKindInItsShapeAndLabelsByName) {
  MetricRegistry registry;
  registry
      .AddCounter({.name = "x:done",
                   .help = "Things done",
                   .labels = {"reason"},
                   .constant_labels = {{"model_name", "m"}, {"engine", "0"}}})
      .With({"stop"})
      .Add(2);
  registry.AddGauge({.name = "x:level", .help = "How high", .labels = {}}).With({}).Set(0.5);
  Histogram& histogram = registry
                             .AddHistogram({.name = "x:time",
                                            .help = "How long",
                                            .labels = {},
                                            .constant_labels = {{"model_name", "m"}, {"a", "0"}},
                                            .bounds = {0.1, 1}})
                             .With({});
  histogram.Observe(0.1);
  histogram.Observe(0.5, 2);
  histogram.Observe(7);
  registry.AddSummary({.name = "x:size", .help = "How large", .labels = {}}).With({}).Observe(9);
  EXPECT_EQ(PageWithoutCreated(registry), R"(# HELP x:done_total Things done
# TYPE x:done_total counter
x:done_total{engine="0",model_name="m",reason="stop"} 2.0
# HELP x:level How high
# TYPE x:level gauge
x:level 0.5
# HELP x:time How long
# TYPE x:time histogram
x:time_bucket{a="0",le="0.1",model_name="m"} 1.0
x:time_bucket{a="0",le="1.0",model_name="m"} 3.0
x:time_bucket{a="0",le="+Inf",model_name="m"} 4.0
x:time_count{a="0",model_name="m"} 4.0
x:time_sum{a="0",model_name="m"} 8.1
# HELP x:size How large
# TYPE x:size summary
x:size_count 1.0
x:size_sum 9.0
)");
}

TEST(Registry, SaysWhenACountBegan) {
  MetricRegistry registry;
  registry.AddCounter({.name = "x", .help = "h", .labels = {}}).With({});
  registry.AddCounter({.name = "y", .help = "h", .labels = {}, .shows_created = false}).With({});
  const std::string page = registry.Expose();
  EXPECT_NE(page.find("# TYPE x_created gauge\nx_created 1."), std::string::npos) << page;
  EXPECT_EQ(page.find("y_created"), std::string::npos) << page;
}

TEST(Registry, BoundsTheSeriesThatClientsCanMake) {
  MetricRegistry registry;
  auto& family = registry.AddCounter({.name = "x", .help = "h", .labels = {"who"}});
  for (int i = 0; i < 3000; ++i) family.With({StrCat(i)}).Add();
  const std::string page = PageWithoutCreated(registry);
  EXPECT_NE(page.find("x_total{who=\"999\"} 1.0"), std::string::npos);
  EXPECT_NE(page.find("x_total{who=\"other\"} 2000.0"), std::string::npos);
  EXPECT_EQ(page.find("x_total{who=\"1000\"}"), std::string::npos);
}

TEST(Registry, LosesNothingThatManyThreadsCount) {
  MetricRegistry registry;
  auto& counters = registry.AddCounter({.name = "x", .help = "h", .labels = {"k"}});
  auto& histograms =
      registry.AddHistogram({.name = "t", .help = "h", .labels = {}, .bounds = {1, 2}});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          counters.With({"same"}).Add();
          histograms.With({}).Observe(i % 3);
          if (i % 100 == 0) {
            EXPECT_FALSE(registry.Expose().empty());
          }
        }
      });
    }
  }
  EXPECT_EQ(counters.With({"same"}).value(), 4000);
  EXPECT_EQ(histograms.With({}).sum(), 4 * 999);
}

TEST(Registry, ShowsWhatTheSystemKnowsOfTheProcess) {
  MetricRegistry registry;
  AddProcessMetrics(registry);
  const std::string page = registry.Expose();
  for (const char* name : {"process_resident_memory_bytes", "process_start_time_seconds",
                           "process_open_fds", "process_cpu_seconds_total"}) {
    const std::size_t at = page.find(StrCat("\n", name, " "));
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_NE(page.substr(at + std::string_view(name).size() + 2, 4), "0.0\n") << name;
  }
  EXPECT_NE(page.find("# TYPE process_cpu_seconds_total counter"), std::string::npos);
}

}  // namespace
}  // namespace quire
