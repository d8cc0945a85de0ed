// What every request passes before a route answers it: drain, path, key.
#pragma once

#include <atomic>
#include <memory>
#include <string>
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

// Any thread.
class HttpFront {
 public:
  explicit HttpFront(FrontOptions options);

  // Until the first call every request is answered 503: the model is loading.
  void SetRoutes(std::vector<Route> routes) QUIRE_EXCLUDES(mutex_);
  // From now on what would start work is answered 503; the rest goes on.
  void BeginDrain() { is_draining_.store(true, std::memory_order_relaxed); }
  bool is_draining() const { return is_draining_.load(std::memory_order_relaxed); }

  void Handle(std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) const;
  // Header lines of every answer to `request`.
  std::string MoreHeaders(const HttpRequest& request) const;

 private:
  std::shared_ptr<const Router> router() const QUIRE_EXCLUDES(mutex_);
  std::shared_ptr<const HttpRequest> WithoutRoot(std::shared_ptr<const HttpRequest> request) const;
  void Answer(const Route& route, std::shared_ptr<const HttpRequest> request,
              std::shared_ptr<HttpReply> reply) const;

  const FrontOptions options_;
  const Cors cors_;
  std::atomic<bool> is_draining_ = false;
  mutable Mutex mutex_;
  std::shared_ptr<const Router> router_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
