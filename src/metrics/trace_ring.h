// What the last requests spent their time on, kept for whoever exports traces.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace quire {

enum class SpanKind { kTokenize, kQueue, kPrefillChunk, kDecode, kStream };
const char* ToString(SpanKind kind);

struct TraceSpan {
  SpanKind kind = SpanKind::kQueue;
  std::chrono::steady_clock::time_point begin{};
  std::chrono::steady_clock::time_point end{};
  std::int64_t num_tokens = 0;  // that it read or made
};

// One request from its arrival to its end.
struct RequestTrace {
  static constexpr std::size_t kMaxSpans = 64;

  std::string request_id;
  std::vector<TraceSpan> spans;  // in the order of their ends
  std::string outcome;           // as FinishReasons are named

  // Past kMaxSpans the last span is stretched over the new one.
  void Add(const TraceSpan& span);
};

// The last `capacity` requests. Any thread.
class TraceRing {
 public:
  explicit TraceRing(std::size_t capacity) : capacity_(capacity) {}

  void Add(RequestTrace trace) QUIRE_EXCLUDES(mutex_);
  // Oldest first.
  std::vector<RequestTrace> Snapshot() const QUIRE_EXCLUDES(mutex_);

 private:
  const std::size_t capacity_;
  mutable Mutex mutex_;
  std::deque<RequestTrace> traces_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
