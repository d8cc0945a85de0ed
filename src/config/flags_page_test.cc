#include "config/flags_page.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(FlagsPage, IsTheOneInDocs) {
  const char* source =
      std::getenv("QUIRE_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe): one thread
  if (source == nullptr) GTEST_SKIP() << "QUIRE_SOURCE_DIR is unset: docs/flags.md is not found";
  const std::string path = std::string(source) + "/docs/flags.md";
  if (std::getenv("QUIRE_WRITE_DOCS") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    std::ofstream(path) << FlagsPage();
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), FlagsPage())
      << "write it anew: QUIRE_WRITE_DOCS=1 QUIRE_SOURCE_DIR=. build/dev/src/config/config_test";
}

TEST(FlagsPage, NamesFlagsWithDashesAndTheirDefaults) {
  const std::string page = FlagsPage();
  EXPECT_NE(page.find("| `--max-num-seqs` | INT | `256` |"), std::string::npos);
  EXPECT_NE(page.find("| `--top-k` | INT | `0` |"), std::string::npos);
  EXPECT_NE(page.find("| `--mmap` | on or off | on |"), std::string::npos);
  EXPECT_NE(page.find("| `--scheduling-policy` | fcfs, priority | `fcfs` |"), std::string::npos);
  EXPECT_NE(page.find("| `--stop` | TEXT … |"), std::string::npos);
}

}  // namespace
}  // namespace quire
