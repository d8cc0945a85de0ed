// What a service manager hears: systemd's readiness protocol.
#pragma once

#include <string>
#include <string_view>

namespace quire {

// Sends `state` ("READY=1") to the socket that NOTIFY_SOCKET named; nothing where `socket_path` is
// empty. False where nobody listens there.
bool NotifyServiceManager(const std::string& socket_path, std::string_view state);

}  // namespace quire
