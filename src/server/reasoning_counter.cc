#include "server/reasoning_counter.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace quire {

ReasoningCounter::ReasoningCounter(std::unique_ptr<AnswerParser> parser)
    : parser_(std::move(parser)) {}

std::size_t ReasoningCounter::TakeTold() {
  std::size_t num_told = 0;
  for (const AnswerEvent& event : events_) {
    if (event.kind == AnswerEventKind::kReasoning) num_told += event.text.size();
  }
  events_.clear();
  return num_told;
}

std::int64_t ReasoningCounter::Hear(std::string_view bytes) {
  waiting_.push_back(bytes.size());
  parser_->Feed(bytes, events_);
  const std::size_t num_told = TakeTold();
  const std::size_t num_bytes = std::accumulate(waiting_.begin(), waiting_.end(), std::size_t{0});
  const bool is_inside = parser_->in_reasoning();
  const std::size_t num_held = is_inside ? std::min(parser_->num_held(), num_bytes) : 0;
  // What is told stands before what is held back, or before the marker of the end.
  const std::size_t end = is_inside ? num_bytes - num_held : std::min(num_told, num_bytes);
  const std::size_t begin = end - std::min(num_told, end);
  std::int64_t num_tokens = 0;
  std::size_t num_settled = 0;
  std::size_t at = 0;
  for (const std::size_t size : waiting_) {
    if (at < end && begin < at + size) ++num_tokens;
    if (!is_inside || at < num_bytes - num_held) ++num_settled;
    at += size;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(num_settled));
  return num_tokens;
}

std::int64_t ReasoningCounter::Finish() {
  parser_->Finish(events_);
  const auto num_waiting = static_cast<std::int64_t>(waiting_.size());
  waiting_.clear();
  return TakeTold() > 0 ? num_waiting : 0;
}

}  // namespace quire
