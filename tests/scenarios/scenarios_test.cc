// Every *.txt of this folder but CMakeLists.txt is a test.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "scenario.h"

namespace quire {
namespace {

std::filesystem::path Folder() {
  const char* source = std::getenv("QUIRE_SOURCE_DIR");
  if (source != nullptr) return std::filesystem::path(source) / "tests" / "scenarios";
  return std::filesystem::path(__FILE__).parent_path();
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  std::error_code error;  // no folder: no names, and the test without cases fails
  for (const auto& entry : std::filesystem::directory_iterator(Folder(), error)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".txt" && name != "CMakeLists") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, GoesAsWritten) {
  const std::filesystem::path path = Folder() / (GetParam() + ".txt");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(Scenario().Play(text.str()), "") << path;
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioTest, testing::ValuesIn(Names()),
                         [](const auto& file) { return file.param; });

// The runner itself must be able to say no.
TEST(ScenarioRunner, SeesAPlanThatIsNotAsWritten) {
  EXPECT_EQ(Scenario().Play("budget 8\nadd a prompt=4 max=1\nstep >a:0+3*\n"),
            "line 3, step >a:0+3*: expected '>a:0+3*', found '>a:0+4*'");
  EXPECT_NE(Scenario().Play("add a prompt=4 max=1\nstep >a:0+4*\nout a:8/length\n"), "");
  EXPECT_NE(Scenario().Play("add a prompt=4 max=1\nused 3\n"), "");
  EXPECT_NE(Scenario().Play("add a prompt=4 max=1\nrefuse b prompt=4 because empty\n"), "");
}

TEST(ScenarioRunner, RefusesWordsItDoesNotKnow) {
  EXPECT_NE(Scenario().Play("add a prompt=4 mx=1\n"), "");
  EXPECT_NE(Scenario().Play("bugdet 4\n"), "");
  EXPECT_NE(Scenario().Play(""), "");
}

}  // namespace
}  // namespace quire
