// What `quire serve` reads from its command line, a file and the environment.
#pragma once

#include <string>

#include "apps/quire/command.h"
#include "base/status.h"
#include "config/engine_config.h"
#include "config/server_config.h"

namespace quire {

struct ServeConfig {
  EngineConfig engine;
  ServerConfig server;
  std::string model_name;     // as the user called it, or the default model's
  std::string version;        // of the program
  std::string notify_socket;  // of a service manager
  bool needs_key = false;     // clients do
};

// False where the flags asked only to be told something, which has been printed.
Result<bool> ReadServeFlags(Args args, ServeConfig& config);

}  // namespace quire
