// What tests of answer parsers share: answers joined from their events.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"

namespace quire {

struct JoinedCall {
  std::string name;
  std::string arguments;

  friend bool operator==(const JoinedCall&, const JoinedCall&) = default;
};

// An answer as a client puts it together.
struct JoinedAnswer {
  std::string reasoning;
  std::string content;
  std::vector<JoinedCall> calls;
  bool is_sound = true;  // calls were numbered in order and arguments followed their call's begin

  friend bool operator==(const JoinedAnswer&, const JoinedAnswer&) = default;
};

inline void PrintTo(const JoinedAnswer& answer, std::ostream* os) {
  *os << "reasoning <" << answer.reasoning << "> content <" << answer.content << ">";
  for (const JoinedCall& call : answer.calls) *os << " call " << call.name << call.arguments;
  if (!answer.is_sound) *os << " UNSOUND";
}

inline JoinedAnswer Join(const std::vector<AnswerEvent>& events) {
  JoinedAnswer answer;
  for (const AnswerEvent& event : events) {
    const auto index = static_cast<std::size_t>(event.call_index);
    switch (event.kind) {
      case AnswerEventKind::kReasoning:
        answer.reasoning += event.text;
        break;
      case AnswerEventKind::kContent:
        answer.content += event.text;
        break;
      case AnswerEventKind::kCallBegin:
        answer.is_sound = answer.is_sound && index == answer.calls.size() && !event.id.empty();
        answer.calls.push_back({event.name, ""});
        break;
      case AnswerEventKind::kArguments:
        answer.is_sound = answer.is_sound && index + 1 == answer.calls.size();
        if (answer.is_sound) answer.calls.back().arguments += event.text;
        break;
    }
    const bool has_text = event.kind == AnswerEventKind::kCallBegin || !event.text.empty();
    answer.is_sound = answer.is_sound && has_text;
  }
  return answer;
}

// The answer when `text` comes in pieces of the lengths that `next_length` gives.
template <typename NextLength>
JoinedAnswer ParseInPieces(AnswerParser& parser, std::string_view text, NextLength next_length) {
  std::vector<AnswerEvent> events;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view piece = text.substr(at, next_length());
    parser.Feed(piece, events);
    at += piece.size();
  }
  parser.Finish(events);
  return Join(events);
}

inline JoinedAnswer ParseWhole(AnswerParser& parser, std::string_view text) {
  return ParseInPieces(parser, text, [&] { return text.size(); });
}

}  // namespace quire
