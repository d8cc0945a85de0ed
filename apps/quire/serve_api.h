// The routes of `quire serve`, as its flags ask for them.
#pragma once

#include <memory>

#include "apps/quire/serve_flags.h"
#include "base/status.h"
#include "engine/async_engine.h"
#include "server/api.h"

namespace quire {

// `source` gives `engine` already. kInvalidArgument names the flag.
Result<std::unique_ptr<Api>> MakeApi(const ServeConfig& config, const AsyncEngine& engine,
                                     EngineSource source);

}  // namespace quire
