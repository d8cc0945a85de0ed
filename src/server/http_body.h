// Request bodies that were packed for the way.
#pragma once

#include <cstddef>
#include <string>

#include "server/http.h"
#include "server/http_parser.h"

namespace quire {

// Unpacks the body by its Content-Encoding (gzip, x-gzip, deflate; identity and none leave it).
// Never holds more than `max_bytes`. An empty message: done. Otherwise 400 broken, 413 too large,
// 415 another encoding.
HttpRefusal UnpackBody(std::size_t max_bytes, HttpRequest& request);

}  // namespace quire
