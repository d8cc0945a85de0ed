// Tool calls that are JSON objects within text: hermes, llama3_json, mistral and their like.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"
#include "server/tool_parsers/call_object.h"
#include "server/tool_parsers/call_writer.h"
#include "server/tool_parsers/json_value.h"

namespace quire {

// One way of writing such calls.
struct JsonCallStyle {
  std::string_view begin = {};  // stands before a call or a list of calls
  std::string_view end = {};    // stands after them; empty: nothing does. A model may leave it out
  std::string_view separators = {};  // a character of these may stand between two calls
  CallKeys keys = CallKeys::kAny;
  bool may_be_bare = false;  // an object at the start of a line may be a call without `begin`
  bool may_be_named = false;  // `begin` NAME {arguments}, NAME[ARGS]{…}, NAME[CALL_ID]id[ARGS]{…}
  bool is_all_calls = false;  // the whole answer is one list, without markers
  CallIdStyle ids = CallIdStyle::kVllm;
};

// White space around calls is no content: what stands before the first or between two is dropped
// when a call follows it at once.
class JsonCallParser : public AnswerParser {
 public:
  JsonCallParser(const JsonCallStyle& style, std::uint64_t id_seed);

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override;
  void Finish(std::vector<AnswerEvent>& out) override;

 private:
  enum class State {
    kText,         // outside of calls; held_ is the start of a marker
    kAfterMarker,  // held_ is the marker and white space
    kName,         // held_ goes on with what names the call: NAME, NAME[ARGS], …
    kObject,       // in the object of a call; held_ is what has not come out of it
    kArguments,    // in the arguments of a named call; all of them came out
  };

  void Put(char c);
  void PutText(char c);
  void PutPlain(char c);
  bool TakesSpace(char c) const;
  bool MayOpenObject() const;
  void PutAfterMarker(char c);
  void PutName(char c);
  void PutObject(char c);
  void PutArguments(char c);
  void MeetMarker(bool is_begin);
  void OpenObject(char c);
  void EndCall();
  void BreakOff(char c);
  void WriteContent(std::string_view text);

  const JsonCallStyle& style_;
  CallWriter writer_;
  CallObjectReader object_;
  JsonValueReader arguments_;
  State state_ = State::kText;
  std::string held_;
  std::string space_;     // white space and a separator that wait for what follows them
  bool is_quiet_ = true;  // at the start, or a call has just ended
  bool is_after_call_ = false;
  bool is_line_start_ = true;
  bool in_tag_ = false;  // the end marker has not come yet
  bool in_list_ = false;
};

}  // namespace quire
