// All metrics of one process by name, and the page that a Prometheus server reads.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "metrics/exposition.h"
#include "metrics/histogram.h"

namespace quire {

// What a family of series is.
struct MetricInfo {
  std::string name;  // of a counter without "_total", which is added where it is shown
  std::string help;
  std::vector<std::string> labels;    // names, in any order
  MetricLabels constant_labels = {};  // the same for all series
  std::vector<double> bounds = {};    // of a histogram
  bool shows_created = true;          // when each series began; never of a gauge
};

// The series of one metric, told apart by the values of its labels. Any thread.
//
// The number of series is bounded, because label values may come from clients: past kMaxSeries
// each new combination counts into one series whose values are "other".
template <typename Metric>
class MetricFamily {
 public:
  static constexpr std::size_t kMaxSeries = 1000;

  explicit MetricFamily(MetricInfo info) : info_(std::move(info)) {}
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;

  // The series with these values of info().labels, made at the first call, which takes a lock and
  // a search. The reference holds as long as the family: keep it where it is used often.
  Metric& With(std::initializer_list<std::string_view> values) QUIRE_EXCLUDES(mutex_);

  const MetricInfo& info() const { return info_; }
  void AppendTo(std::string& out) const QUIRE_EXCLUDES(mutex_);

 private:
  struct Series {
    Series(std::vector<std::string> label_values, MetricLabels shown, const MetricInfo& info);
    std::vector<std::string> values;
    MetricLabels labels;
    std::string text;    // of the labels
    double created = 0;  // seconds since the epoch
    std::unique_ptr<Metric> metric;
  };
  Series* Find(const std::vector<std::string>& values) QUIRE_REQUIRES(mutex_);
  Metric& Make(std::vector<std::string> values) QUIRE_REQUIRES(mutex_);

  const MetricInfo info_;
  mutable Mutex mutex_;
  std::deque<Series> series_ QUIRE_GUARDED_BY(mutex_);
};

extern template class MetricFamily<Counter>;
extern template class MetricFamily<Gauge>;
extern template class MetricFamily<Histogram>;
extern template class MetricFamily<Summary>;

// Any thread. Families hold as long as the registry and are shown in the order of their making.
class MetricRegistry {
 public:
  MetricRegistry() = default;
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  MetricFamily<Counter>& AddCounter(MetricInfo info) { return Add<Counter>(std::move(info)); }
  MetricFamily<Gauge>& AddGauge(MetricInfo info) { return Add<Gauge>(std::move(info)); }
  MetricFamily<Histogram>& AddHistogram(MetricInfo info) { return Add<Histogram>(std::move(info)); }
  MetricFamily<Summary>& AddSummary(MetricInfo info) { return Add<Summary>(std::move(info)); }

  // Runs before each page is made, to bring numbers up to date, one at a time. What it refers to
  // outlives the registry.
  void AddCollector(std::function<void()> collect) QUIRE_EXCLUDES(mutex_);

  // The page, as kMetricsContentType says.
  std::string Expose() const QUIRE_EXCLUDES(mutex_);

 private:
  template <typename Metric>
  MetricFamily<Metric>& Add(MetricInfo info) QUIRE_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::vector<std::function<void()>> collectors_ QUIRE_GUARDED_BY(mutex_);
  // One for each family, which it owns.
  std::vector<std::function<void(std::string& out)>> families_ QUIRE_GUARDED_BY(mutex_);
};

inline constexpr std::string_view kMetricsContentType = "text/plain; version=1.0.0; charset=utf-8";

}  // namespace quire
