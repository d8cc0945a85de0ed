#include "metrics/trace_ring.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quire {
namespace {

TEST(TraceRing, KeepsTheLastRequestsOldestFirst) {
  TraceRing ring(3);
  for (int i = 0; i < 5; ++i) ring.Add({.request_id = StrCat(i), .spans = {}, .outcome = "stop"});
  std::string ids;
  for (const RequestTrace& trace : ring.Snapshot()) ids += trace.request_id;
  EXPECT_EQ(ids, "234");
  TraceRing none(0);
  none.Add({});
  EXPECT_TRUE(none.Snapshot().empty());
}

TEST(TraceRing, BoundsTheSpansOfARequestAndLosesNoTokens) {
  RequestTrace trace;
  std::chrono::steady_clock::time_point now{};
  for (int i = 0; i < 100; ++i) {
    trace.Add({.kind = SpanKind::kPrefillChunk,
               .begin = now,
               .end = now + std::chrono::seconds(1),
               .num_tokens = 10});
    now += std::chrono::seconds(1);
  }
  ASSERT_EQ(trace.spans.size(), RequestTrace::kMaxSpans);
  std::int64_t num_tokens = 0;
  for (const TraceSpan& span : trace.spans) num_tokens += span.num_tokens;
  EXPECT_EQ(num_tokens, 1000);
  EXPECT_EQ(trace.spans.back().end, now);
}

}  // namespace
}  // namespace quire
