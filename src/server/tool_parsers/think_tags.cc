#include "server/tool_parsers/think_tags.h"

#include <algorithm>
#include <utility>

#include "request/structured_output_params.h"
#include "server/tool_parsers/json_value.h"
#include "server/tool_parsers/marker.h"

namespace quire {
namespace {

std::string_view WithoutSpaceAtEnd(std::string_view text) {
  while (!text.empty() && IsJsonSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

ThinkTagParser::ThinkTagParser(const ThinkStyle& style, std::string_view prompt_end)
    : style_(style), is_unmarked_(style.begins_unmarked), writer_(0) {
  const std::string_view prompt = WithoutSpaceAtEnd(prompt_end);
  if (prompt.ends_with(style.begin)) is_unmarked_ = true;
  if (prompt.ends_with(style.end)) state_ = State::kContent;
}

void ThinkTagParser::Feed(std::string_view delta, std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  for (std::size_t i = 0; i < delta.size(); ++i) {
    if (state_ == State::kContent) return writer_.Content(delta.substr(i));
    Put(delta[i]);
  }
}

void ThinkTagParser::Finish(std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  if (in_reasoning()) {
    writer_.Reasoning(held_);
  } else {
    writer_.Content(held_);
  }
  held_.clear();
}

// White space, then perhaps the begin marker. `held_` is what came.
void ThinkTagParser::PutStart(char c) {
  held_ += c;
  const std::size_t start = held_.find_first_not_of(" \n\r\t");
  if (start == std::string::npos && held_.size() < kMaxSpaceBytesBeforeReasoning) return;
  const MarkerMatch match = start == std::string::npos
                                ? MarkerMatch::kNone
                                : MatchMarker(style_.begin, std::string_view(held_).substr(start));
  if (match == MarkerMatch::kPrefix) return;
  const std::string text = std::exchange(held_, std::string());
  if (match == MarkerMatch::kWhole) {
    state_ = State::kReasoning;
  } else if (is_unmarked_) {
    state_ = State::kReasoning;
    for (const char again : text) Put(again);
  } else {
    state_ = State::kContent;
    writer_.Content(text);
  }
}

void ThinkTagParser::Put(char c) {
  if (state_ == State::kStart) return PutStart(c);
  if (state_ == State::kContent) return writer_.Content({&c, 1});
  held_ += c;
  const MarkerMatch match = MatchMarker(style_.end, held_);
  if (match == MarkerMatch::kPrefix) return;
  const std::string text = std::exchange(held_, std::string());
  if (match == MarkerMatch::kWhole) {
    state_ = State::kContent;
    return;
  }
  writer_.Reasoning(std::string_view(text).substr(0, 1));
  for (std::size_t i = 1; i < text.size(); ++i) Put(text[i]);
}

}  // namespace quire
