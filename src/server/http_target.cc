#include "server/http_target.h"

#include <utility>

#include "base/strings.h"
#include "server/http_wire.h"

namespace quire {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool HasControlByte(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return true;
  }
  return false;
}

}  // namespace

std::optional<HttpTarget> ParseHttpTarget(std::string_view target) {
  target = target.substr(0, target.find('#'));
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!EqualsIgnoringCase(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t slash = target.find_first_of("/?");
    if (slash == std::string_view::npos) return HttpTarget{.path = "/"};
    target.remove_prefix(slash);
    break;
  }
  if (target == "*") return HttpTarget{.path = "*"};
  if (target.empty() || target.front() != '/') return std::nullopt;
  const std::size_t mark = target.find('?');
  std::optional<std::string> path = PercentDecode(target.substr(0, mark));
  if (!path || HasControlByte(*path)) return std::nullopt;
  HttpTarget out{.path = *std::move(path)};
  if (mark != std::string_view::npos) out.query = target.substr(mark + 1);
  return out;
}

std::optional<std::string> QueryValue(std::string_view query, std::string_view name) {
  for (const std::string_view part : Split(query, '&')) {
    const std::size_t equals = part.find('=');
    if (part.substr(0, equals) != name) continue;
    if (equals == std::string_view::npos) return std::string();
    return PercentDecode(part.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace quire
