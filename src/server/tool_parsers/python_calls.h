// Tool calls in the manner of Python: [get_weather(city="Rome"), get_time()].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"
#include "server/tool_parsers/call_writer.h"
#include "server/tool_parsers/python_value.h"

namespace quire {

// Reads one call, NAME(KEY=LITERAL, …).
class PythonCallReader {
 public:
  // Gets ready for another call.
  void Reset() { *this = PythonCallReader(); }

  // From the first byte of the name to the closing parenthesis; never kDoneBefore. The call begins
  // in the writer with the first output of its first argument. Its end is the caller's to write.
  ReadState Put(char c, CallWriter& writer);

  // Whether the last byte made the writer write something.
  bool has_written() const { return has_written_; }

 private:
  enum class State { kName, kKeyOrEnd, kKey, kEquals, kValue, kCommaOrEnd };

  ReadState PutName(char c);
  ReadState PutKey(char c);
  ReadState PutValue(char c, CallWriter& writer);
  ReadState PutCommaOrEnd(char c, CallWriter& writer);
  ReadState End(CallWriter& writer);
  void Write(std::string_view json, CallWriter& writer);

  State state_ = State::kName;
  std::string name_;
  std::string key_;
  PythonValueReader value_;
  bool is_key_written_ = false;
  bool has_written_ = false;
};

struct PythonCallStyle {
  std::string_view begin = {};  // stands before the list; empty: nothing does
  std::string_view end = {};    // stands after it
  bool must_be_marked = false;  // else a list at the start of a line may be one without `begin`
};

class PythonCallParser : public AnswerParser {
 public:
  PythonCallParser(const PythonCallStyle& style, std::uint64_t id_seed)
      : style_(style), writer_(id_seed) {}

  void Feed(std::string_view delta, std::vector<AnswerEvent>& out) override;
  void Finish(std::vector<AnswerEvent>& out) override;

 private:
  enum class State {
    kText,         // outside of lists; held_ is the start of a marker
    kAfterMarker,  // held_ is the marker and white space
    kList,         // between calls; held_ is all since the last call, or since the marker
    kCall,         // held_ is all since the writer wrote last
  };

  void Put(char c);
  void PutText(char c);
  void PutPlain(char c);
  void PutAfterMarker(char c);
  void PutList(char c);
  void PutCall(char c);
  void OpenList(char c);
  void EndList();
  void BreakOff(char c);
  void WriteContent(std::string_view text);

  const PythonCallStyle& style_;
  CallWriter writer_;
  PythonCallReader call_;
  State state_ = State::kText;
  std::string held_;
  std::string space_;  // white space that waits for what follows it
  bool is_quiet_ = true;
  bool is_after_list_ = false;
  bool is_line_start_ = true;
  bool in_tag_ = false;
  bool has_call_ = false;   // in this list
  bool has_comma_ = false;  // after its last call
};

}  // namespace quire
