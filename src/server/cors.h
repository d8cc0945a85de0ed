// What web pages of other origins may do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http.h"

namespace quire {

struct CorsOptions {
  std::vector<std::string> origins;  // empty or "*": all; so with the next two
  std::vector<std::string> methods;
  std::vector<std::string> headers;
  bool allow_credentials = false;
};

// Immutable; any thread.
class Cors {
 public:
  explicit Cors(CorsOptions options);

  // Whether the request asks what a page may send, before it sends it.
  static bool IsPreflight(const HttpRequest& request);
  HttpResponse AnswerPreflight(const HttpRequest& request) const;

  // Header lines of every other answer; none without an Origin in the request.
  void AppendHeaders(const HttpRequest& request, std::string& out) const;

 private:
  bool AllowsOrigin(std::string_view origin) const;
  std::string_view OriginFor(std::string_view origin) const;

  const CorsOptions options_;
  const bool allows_all_origins_;
};

}  // namespace quire
