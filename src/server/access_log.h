// The line of the access log for one answered request.
#pragma once

#include <string>

#include "server/http_connection.h"

namespace quire {

// `127.0.0.1:5000 "GET /health" 200 0 0 0.1ms ID`: who, what, the status, the bytes of the bodies
// in and out, how long, and the request's id. What clients choose is escaped and cut, so that it
// can neither begin a line of its own nor pass for another field.
std::string AccessLine(const HttpAccess& access);

}  // namespace quire
