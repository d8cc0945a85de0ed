#include "metrics/registry.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/log.h"

namespace quire {
namespace {

enum class MetricKind { kCounter, kGauge, kHistogram, kSummary };

double SecondsSinceEpoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

template <typename Metric>
constexpr MetricKind kKindOf = MetricKind::kGauge;
template <>
constexpr MetricKind kKindOf<Counter> = MetricKind::kCounter;
template <>
constexpr MetricKind kKindOf<Histogram> = MetricKind::kHistogram;
template <>
constexpr MetricKind kKindOf<Summary> = MetricKind::kSummary;

const char* TypeName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
    case MetricKind::kSummary:
      return "summary";
  }
  return "untyped";
}

std::string ShownName(const MetricInfo& info, MetricKind kind) {
  return kind == MetricKind::kCounter ? info.name + "_total" : info.name;
}

template <typename Metric>
std::unique_ptr<Metric> MakeMetric(const MetricInfo& info) {
  if constexpr (std::is_same_v<Metric, Histogram>) {
    return std::make_unique<Histogram>(info.bounds);
  } else {
    return std::make_unique<Metric>();
  }
}

void SortByName(MetricLabels& labels) { std::ranges::sort(labels, {}, &MetricLabel::name); }

void AppendValues(const std::string& name, const MetricLabels&, const std::string& text,
                  const Counter& counter, std::string& out) {
  AppendMetricSample(name, text, counter.value(), out);
}

void AppendValues(const std::string& name, const MetricLabels&, const std::string& text,
                  const Gauge& gauge, std::string& out) {
  AppendMetricSample(name, text, gauge.value(), out);
}

void AppendValues(const std::string& name, const MetricLabels&, const std::string& text,
                  const Summary& summary, std::string& out) {
  AppendMetricSample(name + "_count", text, summary.count(), out);
  AppendMetricSample(name + "_sum", text, summary.sum(), out);
}

void AppendValues(const std::string& name, const MetricLabels& labels, const std::string& text,
                  const Histogram& histogram, std::string& out) {
  MetricLabels with_bound = labels;
  with_bound.push_back({.name = "le", .value = ""});
  SortByName(with_bound);
  const auto bound_label =
      std::ranges::find_if(with_bound, [](const MetricLabel& label) { return label.name == "le"; });
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
    total += histogram.count(i);
    bound_label->value.clear();
    AppendMetricValue(i < histogram.bounds().size() ? histogram.bounds()[i]
                                                    : std::numeric_limits<double>::infinity(),
                      bound_label->value);
    AppendMetricSample(name + "_bucket", FormatMetricLabels(with_bound), static_cast<double>(total),
                       out);
  }
  AppendMetricSample(name + "_count", text, static_cast<double>(total), out);
  AppendMetricSample(name + "_sum", text, histogram.sum(), out);
}

}  // namespace

template <typename Metric>
MetricFamily<Metric>::Series::Series(std::vector<std::string> label_values, MetricLabels shown,
                                     const MetricInfo& info)
    : values(std::move(label_values)),
      labels(std::move(shown)),
      text(FormatMetricLabels(labels)),
      created(SecondsSinceEpoch()),
      metric(MakeMetric<Metric>(info)) {}

template <typename Metric>
Metric& MetricFamily<Metric>::With(std::initializer_list<std::string_view> values) {
  QUIRE_CHECK(values.size() == info_.labels.size()) << info_.name << " has other labels";
  const std::vector<std::string> wanted(values.begin(), values.end());
  MutexLock lock(mutex_);
  if (Series* series = Find(wanted)) return *series->metric;
  if (series_.size() < kMaxSeries) return Make(wanted);
  std::vector<std::string> others(wanted.size(), "other");
  if (Series* series = Find(others)) return *series->metric;
  return Make(std::move(others));
}

template <typename Metric>
typename MetricFamily<Metric>::Series* MetricFamily<Metric>::Find(
    const std::vector<std::string>& values) {
  const auto found = std::ranges::find(series_, values, &Series::values);
  return found == series_.end() ? nullptr : &*found;
}

template <typename Metric>
Metric& MetricFamily<Metric>::Make(std::vector<std::string> values) {
  MetricLabels labels = info_.constant_labels;
  for (std::size_t i = 0; i < values.size(); ++i) {
    labels.push_back({.name = info_.labels[i], .value = values[i]});
  }
  SortByName(labels);
  return *series_.emplace_back(std::move(values), std::move(labels), info_).metric;
}

template <typename Metric>
void MetricFamily<Metric>::AppendTo(std::string& out) const {
  constexpr MetricKind kKind = kKindOf<Metric>;
  const std::string name = ShownName(info_, kKind);
  MutexLock lock(mutex_);
  AppendMetricHead(name, info_.help, TypeName(kKind), out);
  for (const Series& series : series_) {
    AppendValues(name, series.labels, series.text, *series.metric, out);
  }
  if (kKind == MetricKind::kGauge || !info_.shows_created) return;
  const std::string created = info_.name + "_created";
  AppendMetricHead(created, info_.help, "gauge", out);
  for (const Series& series : series_) {
    AppendMetricSample(created, series.text, series.created, out);
  }
}

template class MetricFamily<Counter>;
template class MetricFamily<Gauge>;
template class MetricFamily<Histogram>;
template class MetricFamily<Summary>;

template <typename Metric>
MetricFamily<Metric>& MetricRegistry::Add(MetricInfo info) {
  auto family = std::make_shared<MetricFamily<Metric>>(std::move(info));
  MutexLock lock(mutex_);
  families_.emplace_back([family](std::string& out) { family->AppendTo(out); });
  return *family;
}

template MetricFamily<Counter>& MetricRegistry::Add<Counter>(MetricInfo info);
template MetricFamily<Gauge>& MetricRegistry::Add<Gauge>(MetricInfo info);
template MetricFamily<Histogram>& MetricRegistry::Add<Histogram>(MetricInfo info);
template MetricFamily<Summary>& MetricRegistry::Add<Summary>(MetricInfo info);

void MetricRegistry::AddCollector(std::function<void()> collect) {
  MutexLock lock(mutex_);
  collectors_.push_back(std::move(collect));
}

std::string MetricRegistry::Expose() const {
  std::string out;
  MutexLock lock(mutex_);
  for (const auto& collect : collectors_) collect();
  for (const auto& append : families_) append(out);
  return out;
}

}  // namespace quire
