// What HTTP looks like on the wire, answers above all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http.h"

namespace quire {

// What the head of an answer says besides what its maker gave.
struct HttpFraming {
  enum class Body { kLength, kChunked, kUntilClose };
  Body body = Body::kLength;
  bool keeps_alive = true;
  bool is_http_1_0 = false;
  std::string_view more_headers;  // whole lines, each with its CRLF
};

// Names and tokens of HTTP have no case.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// "Not Found" for 404.
std::string_view ReasonOf(int http_status);

// Status line and headers with the empty line after them. Header values lose line breaks.
void AppendHead(const HttpResponse& response, const HttpFraming& framing, std::string& out);

// One header as a line.
void AppendHeader(std::string_view name, std::string_view value, std::string& out);

// One chunk of a chunked body; nothing for empty bytes, which would end it.
void AppendChunk(std::string_view bytes, std::string& out);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// "Sun, 29 Nov 2026 23:28:58 GMT", made once a second.
std::string_view HttpDate();

}  // namespace quire
