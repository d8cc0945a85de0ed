#include "sched/thinking_budget.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace quire {

ThinkingBudget::ThinkingBudget(std::shared_ptr<const ThinkingLimit> limit, ReasoningStage stage)
    : limit_(std::move(limit)), stage_(stage) {
  if (stage_ == ReasoningStage::kOver) limit_.reset();
}

void ThinkingBudget::Hear(TokenId token) {
  if (limit_ == nullptr) return;
  const std::string text = limit_->text_of(token);
  if (stage_ == ReasoningStage::kMayBegin) {
    HearBegin(text);
  } else {
    ++num_tokens_;
    HearInside(text);
  }
}

void ThinkingBudget::HearBegin(const std::string& text) {
  tail_ += text;
  const std::string_view begin = limit_->markers.begin;
  if (limit_->begins_exactly && !begin.starts_with(tail_)) {
    limit_.reset();
    return;
  }
  const std::size_t start = std::min(tail_.find_first_not_of(" \n\r\t"), tail_.size());
  const std::string_view found = std::string_view(tail_).substr(start);
  if (start < kMaxSpaceBytesBeforeReasoning && found.size() < begin.size() &&
      begin.starts_with(found)) {
    return;
  }
  if (start >= kMaxSpaceBytesBeforeReasoning || !found.starts_with(begin)) {
    limit_.reset();
    return;
  }
  const std::string rest(found.substr(begin.size()));
  tail_.clear();
  stage_ = ReasoningStage::kInside;
  HearInside(rest);
}

void ThinkingBudget::HearInside(std::string_view text) {
  tail_ += text;
  const std::string& end = limit_->markers.end;
  if (tail_.find(end) != std::string::npos) {
    limit_.reset();
    return;
  }
  tail_.erase(0, tail_.size() - std::min(tail_.size(), end.size() - 1));
}

// The marker of a beginning that is still to come counts for nothing.
int ThinkingBudget::num_free() const {
  if (limit_ == nullptr) return std::numeric_limits<int>::max();
  return std::max(0, limit_->max_tokens - num_tokens_);
}

TokenId ThinkingBudget::ForcedToken() const {
  if (limit_ == nullptr || stage_ != ReasoningStage::kInside) return -1;
  if (num_tokens_ < limit_->max_tokens) return -1;
  // The last token before which stands all that comes before it in the marker.
  const std::string_view end = limit_->markers.end;
  TokenId forced = -1;
  std::size_t num_bytes = 0;
  for (const TokenId token : limit_->end_ids) {
    if (std::string_view(tail_).ends_with(end.substr(0, num_bytes))) forced = token;
    num_bytes += limit_->text_of(token).size();
  }
  return forced;
}

}  // namespace quire
