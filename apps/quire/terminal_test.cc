#include "apps/quire/terminal.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(ForTerminal, KeepsTextLineFeedsAndTabs) {
  EXPECT_EQ(ForTerminal("a\tb\nc é 🧪"), "a\tb\nc é 🧪");
}

TEST(ForTerminal, MakesControlBytesVisible) {
  EXPECT_EQ(ForTerminal("\x1b]0;x\x07"), "\\x1b]0;x\\x07");
  EXPECT_EQ(ForTerminal("a\rb"), "a\\x0db");
  EXPECT_EQ(ForTerminal("\x7f\xff"), "\\x7f\\xff");
}

TEST(ForTerminal, MakesTheSecondSetOfControlsVisible) {
  EXPECT_EQ(ForTerminal("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(ForTerminal("\xc2\xa0"), "\xc2\xa0");
}

TEST(ProgressBar, StaysInItsBounds) {
  EXPECT_EQ(ProgressBar("x", 0.5, "y"), "x [###############...............]  50%  y");
  EXPECT_EQ(ProgressBar("x", 7.0, ""), "x [##############################] 100%  ");
}

}  // namespace
}  // namespace quire
