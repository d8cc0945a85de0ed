#include "base/file_kind.h"

#include <filesystem>
#include <system_error>

#include "base/strings.h"

namespace quire {

namespace fs = std::filesystem;

Result<bool> HasFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::regular) return true;
  const auto wrong = [&](std::string_view what) {
    return InvalidArgument(StrCat(Printable(path, 4096), ": ", what));
  };
  if (status.type() == fs::file_type::directory) return wrong("is a folder, not a file");
  if (status.type() == fs::file_type::none) {
    return wrong(StrCat("cannot be examined: ", error.message()));
  }
  if (status.type() == fs::file_type::not_found) {
    const bool is_link = fs::is_symlink(fs::symlink_status(path, error));
    return is_link ? Result<bool>(wrong("is a link to a file that is not there")) : false;
  }
  return wrong("is a pipe or a device, not a file");
}

}  // namespace quire
