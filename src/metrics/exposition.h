// Prometheus text exposition, byte for byte as the original client library writes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quire {

struct MetricLabel {
  std::string name;
  std::string value;
};
// In the order in which they are shown: by name.
using MetricLabels = std::vector<MetricLabel>;

// The value as dashboards expect it: "3.0", "0.25", "1.7959757e+09", "+Inf", "NaN".
void AppendMetricValue(double value, std::string& out);

// `# HELP name help` and `# TYPE name type`.
void AppendMetricHead(std::string_view name, std::string_view help, std::string_view type,
                      std::string& out);

// `{a="x",b="y"}` with what a quoted text cannot hold escaped; nothing for no labels.
std::string FormatMetricLabels(const MetricLabels& labels);

// `name{labels} value`, where `labels` is what FormatMetricLabels gave.
void AppendMetricSample(std::string_view name, std::string_view labels, double value,
                        std::string& out);

}  // namespace quire
