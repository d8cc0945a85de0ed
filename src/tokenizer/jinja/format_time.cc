// Dates and times, as strftime in the C locale writes them.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"

namespace quire::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

bool IsLeap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int DayOfYear(const LocalTime& time) {
  constexpr std::array<int, 12> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  return kBefore[time.month - 1] + time.day + (time.month > 2 && IsLeap(time.year) ? 1 : 0);
}

int DayOfWeek(const LocalTime& time) {  // 0: Sunday
  const int y = time.year - 1;
  return (y * 365 + y / 4 - y / 100 + y / 400 + DayOfYear(time)) % 7;
}

std::string Digits(int value, int width, char fill = '0') {
  std::string text = StrCat(value);
  while (static_cast<int>(text.size()) < width) text.insert(0, 1, fill);
  return text;
}

// A field that is a number.
std::optional<std::string> NumberField(const LocalTime& time, char field) {
  const int hour12 = time.hour % 12 == 0 ? 12 : time.hour % 12;
  const int weekday = DayOfWeek(time);
  switch (field) {
    case 'Y':
      return Digits(time.year, 4);
    case 'y':
      return Digits(time.year % 100, 2);
    case 'C':
      return Digits(time.year / 100, 2);
    case 'm':
      return Digits(time.month, 2);
    case 'd':
      return Digits(time.day, 2);
    case 'e':
      return Digits(time.day, 2, ' ');
    case 'H':
      return Digits(time.hour, 2);
    case 'I':
      return Digits(hour12, 2);
    case 'k':
      return Digits(time.hour, 2, ' ');
    case 'l':
      return Digits(hour12, 2, ' ');
    case 'M':
      return Digits(time.minute, 2);
    case 'S':
      return Digits(time.second, 2);
    case 'f':
      return Digits(time.microsecond, 6);
    case 'j':
      return Digits(DayOfYear(time), 3);
    case 'w':
      return StrCat(weekday);
    case 'u':
      return StrCat(weekday == 0 ? 7 : weekday);
    case 'U':
      return Digits((DayOfYear(time) + 6 - weekday) / 7, 2);
    case 'W':
      return Digits((DayOfYear(time) + 6 - (weekday + 6) % 7) / 7, 2);
    default:
      return std::nullopt;
  }
}

// What a field that stands for others is short for; empty for any other.
std::string_view LongField(char field) {
  switch (field) {
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'F':
      return "%Y-%m-%d";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    case 'R':
      return "%H:%M";
    case 'r':
      return "%I:%M:%S %p";
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    default:
      return {};
  }
}

std::string TimeField(const LocalTime& time, char field) {
  if (auto number = NumberField(time, field)) return *std::move(number);
  if (const std::string_view format = LongField(field); !format.empty()) {
    return FormatTime(time, format);
  }
  switch (field) {
    case 'p':
      return time.hour < 12 ? "AM" : "PM";
    case 'P':
      return time.hour < 12 ? "am" : "pm";
    case 'A':
      return std::string(kDays[DayOfWeek(time)]);
    case 'a':
      return std::string(kDays[DayOfWeek(time)].substr(0, 3));
    case 'B':
      return std::string(kMonths[time.month - 1]);
    case 'b':
    case 'h':
      return std::string(kMonths[time.month - 1].substr(0, 3));
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'z':
    case 'Z':
      return "";
    case '%':
      return "%";
    default:
      return StrCat("%", field);
  }
}

}  // namespace

std::string FormatTime(const LocalTime& time, std::string_view format) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool drops_padding = format[i + 1] == '-' && i + 2 < format.size();
    if (drops_padding) ++i;
    std::string field = TimeField(time, format[++i]);
    if (drops_padding) {
      const std::size_t kept = std::min(field.find_first_not_of("0 "), field.size() - 1);
      field.erase(0, kept);
    }
    out += field;
  }
  return out;
}

}  // namespace quire::jinja
