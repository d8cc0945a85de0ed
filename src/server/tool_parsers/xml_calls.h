// Tool calls whose arguments are XML elements: qwen3_coder, glm45 and their like.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"
#include "server/tool_parsers/call_writer.h"
#include "server/tool_parsers/parameter_types.h"

namespace quire {

// One way of writing such calls:
//   begin function_begin NAME function_name_end
//     (key_begin KEY key_end value_begin VALUE value_end)…
//   function_end end
// White space may stand between any two of them.
struct XmlCallStyle {
  std::string_view begin = "<tool_call>";
  std::string_view end = "</tool_call>";
  // Empty: the name stands right behind `begin` and ends before white space or a tag.
  std::string_view function_begin = {};
  std::string_view function_end = {};  // empty: `end` ends the function too
  std::string_view key_begin;
  std::string_view key_end;
  std::string_view value_begin = {};
  std::string_view value_end;
  // A line break at the start and one at the end of a value are not of it; a value without its end
  // ends where the next key or the function's end stands.
  bool is_in_lines = false;
};

// Arguments come out as a JSON object. The value of a parameter that is a string by its schema is
// one, as it stands; any other is taken as JSON where it is, else as a string. Strings stream as
// they come, other values when they are whole.
class XmlCallParser : public AnswerParser {
 public:
  // `types` may be null and outlives this.
  XmlCallParser(const XmlCallStyle& style, std::uint64_t id_seed, const ParameterTypes* types);

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override;
  void Finish(std::vector<AnswerEvent>& out) override;

 private:
  enum class State {
    kText,     // outside of calls; held_ is the start of a marker
    kOpening,  // held_ is what came since `begin`, no call so far
    kInside,   // of a function, between its parameters; held_ is white space and the start of a tag
    kKey,      // held_ is the key and the start of its end
    kValueBegin,
    kValue,  // held_ is the start of a tag
  };

  void Put(char c);
  void PutText(char c);
  void PutPlain(char c);
  void PutOpening(char c);
  void PutInside(char c);
  void PutKey(char c);
  void PutValueBegin(char c);
  void PutValue(char c);
  void PutValueByte(char c);

  void MeetMarker(std::string_view marker);
  bool TakeName(std::string_view name);
  void BeginValue();
  void EndValue();
  void EndCall();
  void BreakOff();
  void WriteContent(std::string_view text);
  // Puts the first byte held, then the others again.
  void Reread(void (XmlCallParser::*put_first)(char));

  const XmlCallStyle& style_;
  const ParameterTypes* const types_;
  CallWriter writer_;
  State state_ = State::kText;
  std::string held_;
  std::string space_;     // white space that a call may follow
  bool is_quiet_ = true;  // at the start, or a call has just ended
  bool is_after_call_ = false;
  bool in_tag_ = false;  // `end` has not come yet

  std::string function_;
  int num_parameters_ = 0;
  ParameterType type_ = ParameterType::kOther;
  std::string value_;  // one that comes out whole
  bool is_first_of_value_ = false;
  bool has_line_break_ = false;  // one that may be the last of the value
};

}  // namespace quire
