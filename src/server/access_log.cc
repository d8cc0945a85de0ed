#include "server/access_log.h"

#include <chrono>

#include "base/strings.h"

namespace quire {

namespace {

constexpr std::size_t kMaxMethodBytes = 20;
constexpr std::size_t kMaxPathBytes = 200;

// Printable, and without quotes and backslashes that end or bend what stands in quotes.
std::string InQuotes(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (const char c : Printable(text, max_bytes)) {
    if (c == '"') {
      out += "\\x22";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string AccessLine(const HttpAccess& access) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(access.duration);
  return StrCat(access.peer, " \"", InQuotes(access.method, kMaxMethodBytes), " ",
                InQuotes(access.path, kMaxPathBytes), "\" ", access.status, " ",
                access.num_request_bytes, " ", access.num_response_bytes, " ",
                static_cast<double>(micros.count()) / 1000, "ms ", access.request_id);
}

}  // namespace quire
