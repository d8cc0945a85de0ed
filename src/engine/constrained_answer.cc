#include "engine/constrained_answer.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace quire {
namespace {

void Allow(TokenId token, bool is_allowed, std::span<std::uint32_t> mask) {
  const auto word = static_cast<std::size_t>(token) / 32;
  if (word >= mask.size()) return;
  const std::uint32_t bit = std::uint32_t{1} << (static_cast<std::size_t>(token) % 32);
  mask[word] = is_allowed ? mask[word] | bit : mask[word] & ~bit;
}

std::string_view WithoutSpace(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n\r\t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace

const std::vector<TokenId>& TokenTexts::ThatBegin(const std::string& marker) {
  MutexLock lock(mutex_);
  const auto [place, is_new] = known_.try_emplace(marker);
  std::vector<TokenId>& tokens = place->second;
  if (!is_new) return tokens;
  for (std::int64_t id = 0; id < vocab_size_; ++id) {
    const std::string text = TextOf(static_cast<TokenId>(id));
    if (!text.empty() && marker.starts_with(text)) tokens.push_back(static_cast<TokenId>(id));
  }
  return tokens;
}

ConstrainedAnswer::ConstrainedAnswer(const EngineRequest& request, TokenTexts& texts)
    : grammar_(request.grammar),
      texts_(&texts),
      matcher_(grammar_->NewMatcher()),
      stage_(request.reasoning) {
  const auto& params = request.sampling.structured_outputs;
  if (params != nullptr && params->reasoning) markers_ = *params->reasoning;
}

ConstrainedAnswer::ConstrainedAnswer(const ConstrainedAnswer& other,
                                     std::unique_ptr<Matcher> matcher)
    : grammar_(other.grammar_),
      texts_(other.texts_),
      matcher_(std::move(matcher)),
      stage_(other.stage_),
      markers_(other.markers_),
      tail_(other.tail_),
      fits_grammar_(other.fits_grammar_) {}

ConstrainedAnswer ConstrainedAnswer::CopyInReasoning() const {
  ConstrainedAnswer copy(*this, grammar_->NewMatcher());
  if (stage_ == ReasoningStage::kMayBegin && fits_grammar_ && !tail_.empty()) {
    copy.fits_grammar_ = copy.matcher_->AcceptBytes(tail_);
  }
  return copy;
}

bool ConstrainedAnswer::Accept(TokenId token) {
  switch (stage_) {
    case ReasoningStage::kOver:
      return matcher_->Accept(token);
    case ReasoningStage::kMayBegin:
      return AcceptBegin(token);
    case ReasoningStage::kInside:
      return AcceptInside(token);
  }
  return false;
}

bool ConstrainedAnswer::AcceptBegin(TokenId token) {
  const std::string text = texts_->TextOf(token);
  const bool is_marker =
      !text.empty() && std::string_view(markers_.begin).substr(tail_.size()).starts_with(text);
  if (!is_marker) {
    if (!fits_grammar_ || !matcher_->Accept(token)) return false;
    stage_ = ReasoningStage::kOver;
    return true;
  }
  fits_grammar_ = fits_grammar_ && matcher_->Accept(token);
  tail_ += text;
  if (tail_.size() < markers_.begin.size()) return true;
  tail_.clear();
  matcher_ = grammar_->NewMatcher();
  stage_ = ReasoningStage::kInside;
  return true;
}

bool ConstrainedAnswer::AcceptInside(TokenId token) {
  if (std::ranges::find(texts_->end_ids(), token) != texts_->end_ids().end()) return false;
  tail_ += texts_->TextOf(token);
  const std::size_t at = tail_.find(markers_.end);
  if (at == std::string::npos) {
    const std::size_t num_kept = std::min(tail_.size(), markers_.end.size() - 1);
    tail_.erase(0, tail_.size() - num_kept);
    return true;
  }
  // Where a token ends the reasoning and goes on, what it goes on with must be allowed.
  const std::string_view rest = std::string_view(tail_).substr(at + markers_.end.size());
  const std::string_view text = WithoutSpace(rest);
  if (!text.empty() && !matcher_->AcceptBytes(rest) && !matcher_->AcceptBytes(text)) return false;
  tail_.clear();
  stage_ = ReasoningStage::kOver;
  return true;
}

void ConstrainedAnswer::Fill(std::span<std::uint32_t> mask) {
  if (stage_ == ReasoningStage::kInside) {
    std::ranges::fill(mask, ~std::uint32_t{0});
    for (const TokenId id : texts_->end_ids()) Allow(id, false, mask);
    return;
  }
  if (stage_ == ReasoningStage::kOver || fits_grammar_) {
    matcher_->Fill(mask);
  } else {
    std::ranges::fill(mask, 0);
  }
  if (stage_ == ReasoningStage::kOver) return;
  for (const TokenId id : texts_->ThatBegin(markers_.begin.substr(tail_.size()))) {
    Allow(id, true, mask);
  }
}

}  // namespace quire
