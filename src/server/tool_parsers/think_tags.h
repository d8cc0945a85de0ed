// Reasoning between two markers at the start of an answer: <think> … </think>.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"
#include "server/tool_parsers/call_writer.h"

namespace quire {

struct ThinkStyle {
  std::string_view begin;
  std::string_view end;
  // Whether an answer without `begin`, after a prompt that has neither opened nor closed the
  // reasoning, is reasoning until `end`. Else it is content.
  bool begins_unmarked = false;
};

// Reasoning stands at the start only; a later `begin` is content.
class ThinkTagParser : public AnswerParser {
 public:
  ThinkTagParser(const ThinkStyle& style, std::string_view prompt_end);

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override;
  void Finish(std::vector<AnswerEvent>& out) override;
  bool in_reasoning() const override {
    return state_ == State::kReasoning || (state_ == State::kStart && is_unmarked_);
  }
  std::size_t num_held() const override { return held_.size(); }

 private:
  enum class State { kStart, kReasoning, kContent };

  void Put(char c);
  void PutStart(char c);

  const ThinkStyle& style_;
  bool is_unmarked_;  // what begins without `begin` is reasoning
  CallWriter writer_;
  State state_ = State::kStart;
  std::string held_;
};

}  // namespace quire
