// Routes about the process itself: is it well, what is it, and what an operator may tell it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/async_engine.h"
#include "server/http.h"

namespace quire {

// What these routes ask; any thread.
struct ControlSources {
  // The engine that serves; null where none does.
  std::function<std::shared_ptr<AsyncEngine>()> engine;
  std::function<std::string_view()> why_refused;  // what would start work; empty: it is not
  std::function<std::int64_t()>
      num_active;  // requests that are being answered, this one among them; empty: no /load
  std::function<std::string()> metrics;  // the page; empty: there is no /metrics
  bool metrics_need_key = true;
  std::string version;
};

// /health, /ping, /version, /load, /metrics, and with Access::kAdmin /sleep, /wake_up,
// /is_sleeping, /pause, /resume, /is_paused, /reset_prefix_cache, /abort.
std::vector<Route> ControlRoutes(const ControlSources& sources);

}  // namespace quire
