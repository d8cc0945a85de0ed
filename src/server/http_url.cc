#include "base/strings.h"
#include "server/http_client.h"

namespace quire {

namespace {

constexpr std::size_t kMaxUrlBytes = 2048;

// "host", "host:port", "[v6]", "[v6]:port" into the URL.
Status TakeAuthority(std::string_view authority, HttpUrl& url) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return InvalidArgument("has no \"]\" after the address");
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (url.host.empty()) return InvalidArgument("has no host");
  if (port.empty()) {
    url.port = url.is_tls ? "443" : "80";
    return {};
  }
  const auto number = ParseNumber<int>(port.substr(1));
  if (port.front() != ':' || !number || *number < 1 || *number > 65535) {
    return InvalidArgument(StrCat("has no port number after the host, but ", Printable(port)));
  }
  url.port = StrCat(*number);
  return {};
}

Result<HttpUrl> Parse(std::string_view text) {
  HttpUrl url;
  if (text.size() > kMaxUrlBytes) return InvalidArgument("is too long");
  for (const char c : text) {
    if (c <= ' ' || c == 0x7F) return InvalidArgument("has a blank or a control character");
  }
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    const std::string_view name = text.substr(0, scheme);
    if (name != "http" && name != "https") {
      return InvalidArgument("must begin with http:// or https://");
    }
    url.is_tls = name == "https";
    text.remove_prefix(scheme + 3);
  }
  if (text.find_first_of("?#@") != std::string_view::npos) {
    return InvalidArgument("must be a plain address, without user, query or fragment");
  }
  const std::size_t slash = text.find('/');
  QUIRE_RETURN_IF_ERROR(TakeAuthority(text.substr(0, slash), url));
  if (slash != std::string_view::npos) url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  return url;
}

}  // namespace

Result<HttpUrl> ParseHttpUrl(std::string_view url) {
  Result<HttpUrl> parsed = Parse(url);
  if (!parsed.ok()) {
    return InvalidArgument(StrCat(Printable(url), " ", parsed.status().message()));
  }
  return parsed;
}

std::string HttpUrl::ToString() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return StrCat(is_tls ? "https://" : "http://", is_v6 ? "[" : "", host, is_v6 ? "]" : "", ":",
                port, path);
}

}  // namespace quire
