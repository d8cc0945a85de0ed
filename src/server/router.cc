#include "server/router.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace quire {

namespace {

bool IsParameter(std::string_view part) {
  return part.size() > 2 && part.front() == '{' && part.back() == '}';
}

// Of a pattern that ends with it: the rest of the path, whatever slashes it has.
bool IsRest(std::string_view part) { return IsParameter(part) && part.ends_with(":path}"); }

bool Matches(std::string_view pattern, std::string_view path) {
  const std::vector<std::string_view> wanted = Split(pattern, '/');
  const std::vector<std::string_view> parts = Split(path, '/');
  const bool has_rest = IsRest(wanted.back());
  if (has_rest ? parts.size() < wanted.size() : parts.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (has_rest && i + 1 == wanted.size()) return !path.ends_with('/');
    if (IsParameter(wanted[i]) ? parts[i].empty() : wanted[i] != parts[i]) return false;
  }
  return true;
}

}  // namespace

Router::Router(std::vector<Route> routes) {
  for (Route& route : routes) {
    const auto is_same = [&route](const Route& known) {
      return known.method == route.method && known.path == route.path;
    };
    const auto known = std::find_if(routes_.begin(), routes_.end(), is_same);
    if (known == routes_.end()) {
      routes_.push_back(std::move(route));
    } else {
      *known = std::move(route);
    }
  }
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (routes_[i].path.find('{') == std::string::npos) {
      exact_.emplace(routes_[i].path, i);
    } else {
      patterns_.push_back(i);
    }
  }
}

std::vector<const Route*> Router::Candidates(std::string_view path) const {
  std::vector<const Route*> found;
  const auto [first, last] = exact_.equal_range(std::string(path));
  for (auto it = first; it != last; ++it) found.push_back(&routes_[it->second]);
  if (!found.empty()) return found;
  for (const std::size_t i : patterns_) {
    if (Matches(routes_[i].path, path)) found.push_back(&routes_[i]);
  }
  return found;
}

Router::Match Router::Find(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::vector<std::string> methods;
  for (const Route* route : Candidates(path)) {
    if (route->method == wanted) return {.route = route};
    methods.push_back(route->method);
    if (route->method == "GET") methods.emplace_back("HEAD");
  }
  if (!methods.empty()) methods.emplace_back("OPTIONS");
  return {.allow = Join(methods, ", ")};
}

}  // namespace quire
