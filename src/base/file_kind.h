// What stands at a path, asked before it is opened: opening a pipe would wait for its other end.
#pragma once

#include <string>

#include "base/status.h"

namespace quire {

// Whether a file stands at `path`; false where nothing does. An error that names the path where
// something else does: a folder, a pipe, a device, a link to nothing (which is what a download
// that was cut short leaves in a cache).
Result<bool> HasFile(const std::string& path);

}  // namespace quire
