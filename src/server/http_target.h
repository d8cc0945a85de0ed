// The target of a request: path and query out of what stands between method and version.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quire {

struct HttpTarget {
  std::string path;   // percent-decoded; "*" for the server as a whole
  std::string query;  // as written, without "?"
};

// Origin form ("/a?b"), absolute form ("http://host/a?b") or "*"; nullopt for anything else, for a
// broken escape, and where the path holds a control byte.
std::optional<HttpTarget> ParseHttpTarget(std::string_view target);

// The value of `name` in a query, decoded; nullopt where it is absent.
std::optional<std::string> QueryValue(std::string_view query, std::string_view name);

}  // namespace quire
