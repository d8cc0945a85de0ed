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
  const bool is_link = fs::symlink_status(path, error).type() == fs::file_type::symlink;
  if (status.type() == fs::file_type::not_found) {
    return is_link ? Result<bool>(wrong("is a link to a file that is not there")) : false;
  }
  if (status.type() == fs::file_type::none) return wrong("cannot be examined");
  return wrong("is a pipe or a device, not a file");
}

}  // namespace quire
