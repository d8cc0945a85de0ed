// Bytes of a connection: whatever they are, requests come out within their bounds, and the same
// ones however the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "server/cors.h"
#include "server/http_body.h"
#include "server/http_parser.h"
#include "server/http_target.h"
#include "server/request_id.h"

namespace quire {
namespace {

constexpr HttpLimits kLimits = {
    .max_header_bytes = 2048, .max_headers = 16, .max_body_bytes = 4096};

struct Outcome {
  std::vector<HttpRequest> requests;
  bool is_refused = false;
};

Outcome Parse(std::string_view bytes, std::size_t step) {
  Outcome outcome;
  HttpParser parser(kLimits);
  while (!bytes.empty() && !outcome.is_refused) {
    std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    while (!piece.empty() && !outcome.is_refused) {
      switch (parser.Feed(piece)) {
        case HttpParser::Progress::kNeedsMore:
          QUIRE_CHECK(piece.empty());
          QUIRE_CHECK(parser.num_body_bytes() <= kLimits.max_body_bytes);
          break;
        case HttpParser::Progress::kComplete:
          outcome.requests.push_back(parser.Take());
          break;
        case HttpParser::Progress::kRefused:
          QUIRE_CHECK(parser.refusal().status >= 400);
          outcome.is_refused = true;
          break;
      }
    }
  }
  return outcome;
}

void Use(HttpRequest request) {
  QUIRE_CHECK(request.body.size() <= kLimits.max_body_bytes);
  QUIRE_CHECK(static_cast<int>(request.headers.size()) <= kLimits.max_headers);
  QUIRE_CHECK(!SoundRequestId(request.header("x-request-id")).empty());
  (void)QueryValue(request.query, "level");
  (void)UnpackBody(kLimits.max_body_bytes, request);
  QUIRE_CHECK(request.body.size() <= kLimits.max_body_bytes);
  const Cors cors({.origins = {"https://a"}, .allow_credentials = true});
  std::string lines;
  cors.AppendHeaders(request, lines);
  if (Cors::IsPreflight(request)) (void)cors.AnswerPreflight(request);
}

}  // namespace
}  // namespace quire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  quire::Outcome whole = quire::Parse(bytes, bytes.size() + 1);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    const quire::Outcome cut = quire::Parse(bytes, step);
    QUIRE_CHECK(cut.requests.size() == whole.requests.size());
    for (std::size_t i = 0; i < cut.requests.size(); ++i) {
      QUIRE_CHECK(cut.requests[i].body == whole.requests[i].body);
      QUIRE_CHECK(cut.requests[i].path == whole.requests[i].path);
      QUIRE_CHECK(cut.requests[i].headers.size() == whole.requests[i].headers.size());
    }
  }
  for (quire::HttpRequest& request : whole.requests) quire::Use(std::move(request));
  return 0;
}
