#include "request/request.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

TEST(FinishReason, HasTheNamesThatClientsKnow) {
  EXPECT_STREQ(ToString(FinishReason::kStop), "stop");
  EXPECT_STREQ(ToString(FinishReason::kLength), "length");
  EXPECT_STREQ(ToString(FinishReason::kAbort), "abort");
  EXPECT_STREQ(ToString(FinishReason::kError), "error");
  EXPECT_STREQ(ToString(FinishReason::kRepetition), "repetition");
}

}  // namespace
}  // namespace quire
