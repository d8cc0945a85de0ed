// What every request passes before a route answers it: path, key, and whether work is taken in.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "server/auth.h"
#include "server/cors.h"
#include "server/http.h"
#include "server/router.h"

namespace quire {

struct FrontOptions {
  KeyRing keys;        // empty: routes of Access::kKey are open
  KeyRing admin_keys;  // empty: routes of Access::kAdmin are not there
  CorsOptions cors;
  std::string root_path;  // taken off the front of paths; empty or "/a/b"
  bool sends_request_id = true;
};

// Why what would start work is refused now; empty where it is taken in. Any thread.
using WorkGate = std::function<std::string_view()>;

// Any thread.
class HttpFront {
 public:
  explicit HttpFront(FrontOptions options);

  // Until the first call every request is answered 503: the model is loading. After it what would
  // start work, a POST to a route of Access::kKey, is answered 503 while `gate` says why.
  void SetRoutes(std::vector<Route> routes, WorkGate gate) QUIRE_EXCLUDES(mutex_);

  void Handle(std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) const;
  const std::string& root_path() const { return options_.root_path; }
  // Header lines of every answer to `request`.
  std::string MoreHeaders(const HttpRequest& request) const;

 private:
  // What SetRoutes was given last.
  struct Table {
    Router router;
    WorkGate gate;
  };
  std::shared_ptr<const Table> table() const QUIRE_EXCLUDES(mutex_);
  std::shared_ptr<const HttpRequest> WithoutRoot(std::shared_ptr<const HttpRequest> request) const;
  // Why `request` may not have what `route` gives; nothing where it may.
  std::optional<HttpResponse> Refusal(const Route& route, const WorkGate& gate,
                                      const HttpRequest& request) const;

  const FrontOptions options_;
  const Cors cors_;
  mutable Mutex mutex_;
  std::shared_ptr<const Table> table_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
