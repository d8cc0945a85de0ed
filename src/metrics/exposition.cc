#include "metrics/exposition.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>

namespace quire {
namespace {

// A finite number as its significant digits and the power of ten of the first one.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

Decimal ToDecimal(double magnitude) {
  char text[40];
  const auto end =
      std::to_chars(text, text + sizeof text, magnitude, std::chars_format::scientific);
  const std::string_view written(text, static_cast<std::size_t>(end.ptr - text));
  const std::size_t e = written.find('e');
  Decimal decimal;
  for (const char c : written.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  const std::size_t start = written[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text + start, end.ptr, decimal.exponent);
  return decimal;
}

void AppendPowerOfTen(std::string_view digits, int exponent, std::string& out) {
  out += digits[0];
  if (digits.size() > 1) {
    out += '.';
    out += digits.substr(1);
  }
  out += exponent < 0 ? "e-" : "e+";
  if (std::abs(exponent) < 10) out += '0';
  out += std::to_string(std::abs(exponent));
}

void AppendPlain(const Decimal& decimal, std::string& out) {
  const std::string& digits = decimal.digits;
  if (decimal.exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-decimal.exponent - 1), '0');
    out += digits;
    return;
  }
  const std::size_t num_whole = static_cast<std::size_t>(decimal.exponent) + 1;
  if (digits.size() <= num_whole) {
    out += digits;
    out.append(num_whole - digits.size(), '0');
    out += ".0";
    return;
  }
  out += digits.substr(0, num_whole);
  out += '.';
  out += digits.substr(num_whole);
}

void AppendEscaped(std::string_view text, bool is_quoted, std::string& out) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && is_quoted) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

}  // namespace

void AppendMetricValue(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::signbit(value)) out += '-';
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "Inf";
    return;
  }
  const Decimal decimal = ToDecimal(std::fabs(value));
  const int exponent = decimal.exponent;
  const int largest_plain = value > 0 ? 5 : 15;  // the client library's own habit
  if (exponent < -4 || exponent > largest_plain) {
    AppendPowerOfTen(decimal.digits, exponent, out);
  } else {
    AppendPlain(decimal, out);
  }
}

void AppendMetricHead(std::string_view name, std::string_view help, std::string_view type,
                      std::string& out) {
  out += "# HELP ";
  out += name;
  out += ' ';
  AppendEscaped(help, false, out);
  out += "\n# TYPE ";
  out += name;
  out += ' ';
  out += type;
  out += '\n';
}

std::string FormatMetricLabels(const MetricLabels& labels) {
  std::string out;
  for (const MetricLabel& label : labels) {
    out += out.empty() ? '{' : ',';
    out += label.name;
    out += "=\"";
    AppendEscaped(label.value, true, out);
    out += '"';
  }
  if (!out.empty()) out += '}';
  return out;
}

void AppendMetricSample(std::string_view name, std::string_view labels, double value,
                        std::string& out) {
  out += name;
  out += labels;
  out += ' ';
  AppendMetricValue(value, out);
  out += '\n';
}

}  // namespace quire
