#include "metrics/trace_ring.h"

#include <utility>

namespace quire {

const char* ToString(SpanKind kind) {
  switch (kind) {
    case SpanKind::kTokenize:
      return "tokenize";
    case SpanKind::kQueue:
      return "queue";
    case SpanKind::kPrefillChunk:
      return "prefill_chunk";
    case SpanKind::kDecode:
      return "decode";
    case SpanKind::kStream:
      return "stream";
  }
  return "unknown";
}

void RequestTrace::Add(const TraceSpan& span) {
  if (spans.size() < kMaxSpans) {
    spans.push_back(span);
    return;
  }
  spans.back().end = span.end;
  spans.back().num_tokens += span.num_tokens;
}

void TraceRing::Add(RequestTrace trace) {
  if (capacity_ == 0) return;
  RequestTrace oldest;  // destroyed without the lock
  MutexLock lock(mutex_);
  if (traces_.size() >= capacity_) {
    oldest = std::move(traces_.front());
    traces_.pop_front();
  }
  traces_.push_back(std::move(trace));
}

std::vector<RequestTrace> TraceRing::Snapshot() const {
  MutexLock lock(mutex_);
  return {traces_.begin(), traces_.end()};
}

}  // namespace quire
