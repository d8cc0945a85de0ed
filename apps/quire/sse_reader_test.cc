#include "apps/quire/sse_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quire {
namespace {

// The events of `text`, which comes in pieces of `size` bytes, as NAME=DATA.
std::vector<std::string> Read(std::string_view text, std::size_t size) {
  std::vector<std::string> events;
  const SseSink sink = [&](const SseEvent& event) {
    events.push_back(StrCat(event.name, "=", event.data));
    return Status();
  };
  SseReader reader;
  for (std::size_t at = 0; at < text.size(); at += size) {
    EXPECT_TRUE(reader.Feed(text.substr(at, size), sink).ok());
  }
  EXPECT_TRUE(reader.Finish(sink).ok());
  return events;
}

TEST(SseReader, ReadsEventsHoweverTheyAreCut) {
  const std::string text =
      ": comment\n\ndata: a\n\nevent: error\r\ndata:b\r\ndata:  c\r\n\r\nid: 1\rdata: d\r\rdata: e";
  const std::vector<std::string> expected = {"message=a", "error=b\n c", "message=d", "message=e"};
  for (const std::size_t size : {1U, 2U, 3U, 7U, 1000U}) EXPECT_EQ(Read(text, size), expected);
}

TEST(SseReader, DropsANameWithoutData) {
  EXPECT_EQ(Read("event: x\n\ndata\n\n", 4), (std::vector<std::string>{"message="}));
}

TEST(SseReader, RefusesAnEventWithoutEnd) {
  SseReader reader;
  const std::string piece(1 << 20, 'x');
  const SseSink sink = [](const SseEvent&) { return Status(); };
  Status status = reader.Feed("data: ", sink);
  for (int i = 0; i < 32 && status.ok(); ++i) status = reader.Feed(piece, sink);
  EXPECT_EQ(status.code(), Code::kUnavailable);
}

TEST(SseReader, HandsOnTheFailureOfTheSink) {
  SseReader reader;
  const Status status = reader.Feed("data: a\n\n", [](const SseEvent&) { return Internal("no"); });
  EXPECT_EQ(status.message(), "no");
}

}  // namespace
}  // namespace quire
