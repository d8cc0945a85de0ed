// The channels of gpt-oss ("harmony"): reasoning, content and calls as messages with headers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"
#include "server/tool_parsers/call_writer.h"

namespace quire {

inline constexpr std::string_view kHarmonyMessage = "<|message|>";

// A message is HEADER<|message|>BODY, ended by <|end|>, <|call|> or <|return|>, and the next one
// starts with <|start|>. The header names a channel and perhaps a recipient:
//   analysis                       reasoning
//   final, commentary              content
//   to=functions.NAME              a call, whose arguments are the body
//   to= something else             reasoning: a tool of the server's own, which there is not
class HarmonyParser : public AnswerParser {
 public:
  struct Options {
    bool has_calls = true;  // else calls are content
    std::string_view prompt_end;
    std::uint64_t id_seed = 0;
  };

  explicit HarmonyParser(const Options& options);

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override;
  void Finish(std::vector<AnswerEvent>& out) override;
  bool in_reasoning() const override { return state_ == State::kBody && body_ == Body::kReasoning; }
  std::size_t num_held() const override { return marker_.size(); }

 private:
  enum class State { kBetween, kHeader, kBody };
  enum class Body { kReasoning, kContent, kCall };

  void Put(char c);
  void PutPlain(char c);
  bool MayStartHeader() const;
  void MeetMarker(std::string_view marker);
  void BeginBody();
  void EndBody();
  void WriteBody(std::string_view text);
  void BreakOff();
  void ClearHeader();

  CallWriter writer_;
  bool has_calls_;
  State state_ = State::kBetween;
  Body body_ = Body::kContent;
  std::string marker_;                // the start of what may be a marker
  std::string header_;                // as written
  std::size_t num_prompt_bytes_ = 0;  // of header_, which stood in the prompt
  bool is_header_sure_ = false;       // a marker of this header has come
};

}  // namespace quire
