// A whole server over an engine whose model costs nothing: what measures and strains everything
// but the model.
#pragma once

#include <memory>

#include "base/status.h"
#include "config/server_config.h"
#include "engine/async_engine.h"
#include "server/api.h"
#include "server/serve.h"

namespace quire {

struct NullServerOptions {
  ServerConfig server;
  int max_num_seqs = 256;
  int num_blocks = 8192;
  int step_us = 0;  // that each step takes at least
};

class NullServer {
 public:
  static Result<std::unique_ptr<NullServer>> Start(const NullServerOptions& options);
  ~NullServer();

  Server& server() { return *server_; }
  AsyncEngine& engine() { return *engine_; }
  int port() const { return server_->port(); }

 private:
  NullServer() = default;

  std::shared_ptr<AsyncEngine> engine_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<Server> server_;  // last: it calls the others
};

// The letters of the alphabet one after another, whatever the prompt.
inline TokenId NullToken(std::int32_t output_idx) { return 'a' + output_idx % 26; }

}  // namespace quire
