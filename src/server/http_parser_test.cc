#include "server/http_parser.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "server/http_target.h"

namespace quire {
namespace {

using Progress = HttpParser::Progress;

// Feeds `text` in pieces of `step` bytes until the parser has decided.
Progress FeedInPieces(HttpParser& parser, std::string_view text, std::size_t step) {
  Progress progress = Progress::kNeedsMore;
  for (std::size_t i = 0; i < text.size() && progress == Progress::kNeedsMore; i += step) {
    std::string_view piece = text.substr(i, step);
    progress = parser.Feed(piece);
  }
  return progress;
}

int RefusedWith(std::string_view text, HttpLimits limits = {}) {
  HttpParser parser(limits);
  const Progress progress = parser.Feed(text);
  return progress == Progress::kRefused ? parser.refusal().status : 0;
}

constexpr std::string_view kPost =
    "POST /v1/x%20y?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-One:  two \r\n\r\nhello";
constexpr std::string_view kChunked =
    "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n";

TEST(HttpParser, ReadsARequestCutAnywhere) {
  for (std::size_t step = 1; step <= kPost.size(); ++step) {
    HttpParser parser({});
    ASSERT_EQ(FeedInPieces(parser, kPost, step), Progress::kComplete) << step;
    const HttpRequest request = parser.Take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v1/x y");
    EXPECT_EQ(request.query, "a=b");
    EXPECT_EQ(request.body, "hello");
    EXPECT_EQ(request.header("x-ONE"), "two");
    EXPECT_TRUE(parser.keeps_alive());
  }
}

TEST(HttpParser, ReadsAChunkedBodyCutAnywhere) {
  for (std::size_t step = 1; step <= kChunked.size(); ++step) {
    HttpParser parser({});
    ASSERT_EQ(FeedInPieces(parser, kChunked, step), Progress::kComplete) << step;
    const HttpRequest request = parser.Take();
    EXPECT_EQ(request.body, "hello world");
    EXPECT_EQ(request.header("trailer"), "");
  }
}

TEST(HttpParser, ReadsAnEmptyChunkedBodyCutAnywhere) {
  constexpr std::string_view kHead =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* end : {"0\r\n\r\n", "0\r\nA: b\r\n\r\n"}) {
    const std::string text = std::string(kHead) + end;
    for (std::size_t step = 1; step <= text.size(); ++step) {
      HttpParser parser({});
      ASSERT_EQ(FeedInPieces(parser, text, step), Progress::kComplete) << step;
      EXPECT_EQ(parser.Take().body, "");
    }
  }
  HttpParser parser({});  // empty lines alone do not end it, nor the process
  EXPECT_NE(FeedInPieces(parser, std::string(kHead) + "0\r\n\n\n\n", 1), Progress::kComplete);
}

TEST(HttpParser, LeavesWhatBelongsToTheNextRequest) {
  const std::string two = std::string(kPost) + std::string(kChunked) + "GET / HTTP/1.1\r\n";
  HttpParser parser({});
  std::string_view bytes = two;
  ASSERT_EQ(parser.Feed(bytes), Progress::kComplete);
  EXPECT_EQ(parser.Take().body, "hello");
  ASSERT_EQ(parser.Feed(bytes), Progress::kComplete);
  EXPECT_EQ(parser.Take().body, "hello world");
  EXPECT_EQ(bytes, "GET / HTTP/1.1\r\n");
  EXPECT_EQ(parser.Feed(bytes), Progress::kNeedsMore);
  EXPECT_TRUE(parser.has_begun());
}

TEST(HttpParser, RefusesWhatIsNoRequest) {
  EXPECT_EQ(RefusedWith("hello\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET x HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost h\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            400);
  EXPECT_EQ(RefusedWith("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n"), 417);
}

TEST(HttpParser, RefusesTwoLengthsOfOneBody) {
  EXPECT_EQ(RefusedWith("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(RefusedWith("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n"
                        "Content-Length: 6\r\n\r\nhello"),
            400);
  for (const char* lengths :
       {"Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5, 5\r\n",
        "Transfer-Encoding:\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding:\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n"}) {
    const std::string head = StrCat("POST / HTTP/1.1\r\nHost: h\r\n", lengths, "\r\nhello");
    EXPECT_EQ(RefusedWith(head), 400) << lengths;
  }
}

TEST(HttpParser, RefusesAnEncodingOfTheBodyThatItCannotBeSureOf) {
  for (const char* encoding :
       {"Transfer-Encoding:\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: chunked;a=b\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: \x0b"
        "chunked\r\n"}) {
    const std::string text =
        StrCat("POST / HTTP/1.1\r\nHost: h\r\n", encoding, "\r\n2\r\n{}\r\n0\r\n\r\n");
    EXPECT_EQ(RefusedWith(text), 400) << encoding;
  }
}

// A proxy in front may have chosen the other one.
TEST(HttpParser, RefusesTwoHosts) {
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nhOST: a\r\n\r\n"), 400);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
}

TEST(HttpParser, RefusesHeadersThatGoOnInTheNextLine) {
  for (const std::string head :
       {"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX:\r\n \r\n\r\n", "GET / HTTP/1.1\r\n Host: h\r\n\r\n"}) {
    for (std::size_t step = 1; step <= head.size(); ++step) {
      HttpParser parser({});
      ASSERT_EQ(FeedInPieces(parser, head, step), Progress::kRefused) << head << step;
      EXPECT_EQ(parser.refusal().status, 400);
    }
  }
  // Blanks at the beginning of a body are its own.
  HttpParser parser({});
  std::string_view whole = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n a\n b";
  EXPECT_EQ(parser.Feed(whole), Progress::kComplete);
}

TEST(HttpParser, HoldsNoMoreThanItsLimits) {
  const HttpLimits small = {.max_header_bytes = 200, .max_headers = 3, .max_body_bytes = 10};
  const std::string long_header =
      "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(1000, 'x') + "\r\n\r\n";
  EXPECT_EQ(RefusedWith(long_header, small), 431);
  EXPECT_EQ(RefusedWith(std::string(100000, 'A'), small), 431);
  EXPECT_EQ(RefusedWith("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", small), 431);
  EXPECT_EQ(RefusedWith("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", small), 413);
  EXPECT_EQ(RefusedWith("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "b\r\nhello world\r\n0\r\n\r\n",
                        small),
            413);
  std::string many = "GET / HTTP/1.1\r\n";
  for (const char name : {'A', 'B', 'C'})
    many += std::string(1, name) + ": " + std::string(90, 'x') + "\r\n";
  HttpParser patient(small);
  ASSERT_EQ(FeedInPieces(patient, many, 10), Progress::kRefused) << "the sum counts";
  EXPECT_EQ(patient.refusal().status, 431);
  const std::string long_chunk_line =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(5000, 'x');
  HttpParser parser(small);
  EXPECT_EQ(FeedInPieces(parser, long_chunk_line, 100), Progress::kRefused);
}

TEST(HttpParser, TellsOnceThatTheClientWaitsForItsGoAhead) {
  std::string_view head =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  HttpParser parser({});
  ASSERT_EQ(parser.Feed(head), Progress::kNeedsMore);
  EXPECT_TRUE(parser.TakeExpectsContinue());
  EXPECT_FALSE(parser.TakeExpectsContinue());
  std::string_view body = "hello";
  EXPECT_EQ(parser.Feed(body), Progress::kComplete);
}

TEST(HttpParser, KnowsWhoWantsToStay) {
  const auto stays = [](std::string_view head) {
    HttpParser parser({});
    EXPECT_EQ(parser.Feed(head), Progress::kComplete);
    return parser.keeps_alive();
  };
  EXPECT_TRUE(stays("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(stays("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpTarget, ReadsTheThreeForms) {
  EXPECT_EQ(ParseHttpTarget("/a/b?c=d#e")->query, "c=d");
  EXPECT_EQ(ParseHttpTarget("http://host:80/a?b")->path, "/a");
  EXPECT_EQ(ParseHttpTarget("http://host")->path, "/");
  EXPECT_EQ(ParseHttpTarget("HTTPS://host/a")->path, "/a");
  EXPECT_EQ(ParseHttpTarget("*")->path, "*");
  EXPECT_FALSE(ParseHttpTarget("host:443"));
  EXPECT_FALSE(ParseHttpTarget("/a%2"));
}

TEST(HttpTarget, FindsAValueOfTheQuery) {
  EXPECT_EQ(QueryValue("a=1&level=2%20x&b", "level"), "2 x");
  EXPECT_EQ(QueryValue("a=1&b", "b"), "");
  EXPECT_EQ(QueryValue("a=1", "level"), std::nullopt);
}

}  // namespace
}  // namespace quire
