// The server's end of TLS: key and certificates from files.
#pragma once

#include "base/status.h"
#include "config/server_config.h"
#include "server/http_server.h"

namespace quire {

// kInvalidArgument names the flag and the file that cannot be used. Versions 1.2 and 1.3.
Result<TlsContext> LoadTls(const TlsOptions& options);

}  // namespace quire
