#include "server/http_wire.h"

#include <charconv>
#include <ctime>

#include "base/strings.h"

namespace quire {

std::string_view ReasonOf(int http_status) {
  switch (http_status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return http_status < 400 ? "OK" : "Error";
  }
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

void AppendHeader(std::string_view name, std::string_view value, std::string& out) {
  out += name;
  out += ": ";
  const std::size_t start = out.size();
  out += value;
  for (std::size_t i = start; i < out.size(); ++i) {
    if (out[i] == '\r' || out[i] == '\n' || out[i] == '\0') out[i] = ' ';
  }
  out += "\r\n";
}

void AppendHead(const HttpResponse& response, const HttpFraming& framing, std::string& out) {
  out += StrCat("HTTP/1.1 ", response.status, " ", ReasonOf(response.status), "\r\n");
  const bool has_body = response.status >= 200 && response.status != 204 && response.status != 304;
  if (has_body && !response.content_type.empty()) {
    AppendHeader("Content-Type", response.content_type, out);
  }
  if (has_body && framing.body == HttpFraming::Body::kLength) {
    out += StrCat("Content-Length: ", response.body.size(), "\r\n");
  }
  if (framing.body == HttpFraming::Body::kChunked) out += "Transfer-Encoding: chunked\r\n";
  out += "Date: ";
  out += HttpDate();
  out += "\r\n";
  if (!framing.keeps_alive) {
    out += "Connection: close\r\n";
  } else if (framing.is_http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  for (const HttpHeader& header : response.headers) AppendHeader(header.name, header.value, out);
  out += framing.more_headers;
  out += "\r\n";
}

void AppendChunk(std::string_view bytes, std::string& out) {
  if (bytes.empty()) return;
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, bytes.size(), 16);
  out.append(digits, end.ptr);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

std::string_view HttpDate() {
  thread_local std::time_t second = -1;
  thread_local char text[40];
  thread_local std::size_t size = 0;
  const std::time_t now = std::time(nullptr);
  if (now != second) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    second = now;
  }
  return {text, size};
}

}  // namespace quire
