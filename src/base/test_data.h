// For tests: where the reference data lies that is not part of the source tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace quire {

// The path of `relative` under $QUIRE_TEST_DATA or, where that is unset, under shared/data beside
// the source tree, or beside a folder above the current one; empty where nothing is there, and the
// test then skips.
inline std::string TestDataPath(const std::string& relative) {
  const char* data = std::getenv("QUIRE_TEST_DATA");     // NOLINT(concurrency-mt-unsafe)
  const char* source = std::getenv("QUIRE_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  std::error_code error;
  std::filesystem::path root;
  if (data != nullptr && *data != '\0') {
    root = data;
  } else if (source != nullptr && *source != '\0') {
    root = std::filesystem::path(source).parent_path() / "shared" / "data";
  } else {
    std::filesystem::path above = std::filesystem::current_path(error);
    while (above != above.root_path() && !std::filesystem::exists(above / "shared/data", error)) {
      above = above.parent_path();
    }
    root = above / "shared" / "data";
  }
  const std::filesystem::path path = root / relative;
  return std::filesystem::exists(path, error) ? path.string() : std::string();
}

}  // namespace quire
