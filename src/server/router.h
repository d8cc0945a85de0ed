// Which handler answers a request.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/http.h"

namespace quire {

// Immutable once built; any thread.
class Router {
 public:
  // A later route of the same method and path takes the place of an earlier one.
  explicit Router(std::vector<Route> routes);

  struct Match {
    const Route* route = nullptr;  // null: no route has this method
    std::string allow;  // where `route` is null: the methods that the path has; empty: 404
  };
  // HEAD finds the route of GET. A trailing slash makes another path.
  Match Find(std::string_view method, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<const Route*> Candidates(std::string_view path) const;

  std::vector<Route> routes_;
  std::unordered_multimap<std::string, std::size_t> exact_;  // path to index in routes_
  std::vector<std::size_t> patterns_;                        // those with a {name}
};

}  // namespace quire
