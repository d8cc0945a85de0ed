#include "server/access_log.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "server/request_id.h"

namespace quire {
namespace {

HttpAccess Access(std::string_view method, std::string_view path) {
  return {.peer = "1.2.3.4:5",
          .method = method,
          .path = path,
          .request_id = "id-1",
          .status = 200,
          .num_request_bytes = 7,
          .num_response_bytes = 80,
          .duration = std::chrono::microseconds(1500)};
}

TEST(AccessLog, SaysWhoAskedWhatAndWhatCameOfIt) {
  EXPECT_EQ(AccessLine(Access("GET", "/v1/models")),
            R"(1.2.3.4:5 "GET /v1/models" 200 7 80 1.5ms id-1)");
}

TEST(AccessLog, KeepsWhatAClientWritesInsideItsQuotesAndLine) {
  const std::string line = AccessLine(Access("GE\x1b[2JT",
                                             "/a\" 200 0 0 0ms x\nI 1.2.3.4:5 \"GET /\xff\xc2\x9b"
                                             "1m"));
  EXPECT_EQ(std::ranges::count(line, '"'), 2) << line;
  for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  EXPECT_EQ(line.find("\xc2\x9b"), std::string::npos) << line;
  EXPECT_LT(AccessLine(Access(std::string(9000, 'G'), std::string(9000, '/'))).size(), 400u);
}

TEST(RequestId, IsTheClientsOnlyWhereALogCanHoldIt) {
  EXPECT_EQ(SoundRequestId("a-B_9.x:1"), "a-B_9.x:1");
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\nb"), std::string("a\"b"),
        std::string("\xc3\xa9"), std::string("a\0b", 3), std::string(129, 'a')}) {
    const std::string id = SoundRequestId(bad);
    EXPECT_NE(id, bad);
    EXPECT_EQ(id.size(), 32u);
  }
  EXPECT_EQ(SoundRequestId(std::string(128, 'a')).size(), 128u);
}

}  // namespace
}  // namespace quire
