#include "server/tool_parsers/python_calls.h"

#include <algorithm>

#include "base/strings.h"
#include "server/tool_parsers/call_object.h"
#include "server/tool_parsers/marker.h"

namespace quire {
namespace {

constexpr std::size_t kMaxSpaceBytes = 256;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool IsNameByte(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }

}  // namespace

ReadState PythonCallReader::Put(char c, CallWriter& writer) {
  has_written_ = false;
  switch (state_) {
    case State::kName:
      return PutName(c);
    case State::kKeyOrEnd:
      if (c == ')') return End(writer);
      [[fallthrough]];
    case State::kKey:
    case State::kEquals:
      return PutKey(c);
    case State::kValue:
      return PutValue(c, writer);
    case State::kCommaOrEnd:
      return PutCommaOrEnd(c, writer);
  }
  return ReadState::kBroken;
}

ReadState PythonCallReader::PutName(char c) {
  if (c == '(' && !name_.empty() && name_.back() != '.') {
    state_ = State::kKeyOrEnd;
    return ReadState::kMore;
  }
  const bool fits = name_.empty() ? IsNameStart(c) : IsNameByte(c) || c == '.';
  if (!fits || name_.size() == CallObjectReader::kMaxNameBytes) return ReadState::kBroken;
  name_ += c;
  return ReadState::kMore;
}

// A key and the equals sign; white space may stand around each.
ReadState PythonCallReader::PutKey(char c) {
  if (IsJsonSpace(c)) {
    if (state_ == State::kKey) state_ = State::kEquals;
    return ReadState::kMore;
  }
  if (c == '=' && state_ != State::kKeyOrEnd) {
    state_ = State::kValue;
    value_.Reset();
    is_key_written_ = false;
    return ReadState::kMore;
  }
  const bool is_first = state_ == State::kKeyOrEnd;
  if (is_first) key_.clear();
  const bool fits = is_first ? IsNameStart(c) : state_ == State::kKey && IsNameByte(c);
  if (!fits || key_.size() == CallObjectReader::kMaxNameBytes) return ReadState::kBroken;
  state_ = State::kKey;
  key_ += c;
  return ReadState::kMore;
}

ReadState PythonCallReader::PutValue(char c, CallWriter& writer) {
  std::string json;
  const ReadState read = value_.Put(c, json);
  Write(json, writer);
  if (read == ReadState::kMore || read == ReadState::kBroken) return read;
  state_ = State::kCommaOrEnd;
  return read == ReadState::kDoneBefore ? PutCommaOrEnd(c, writer) : ReadState::kMore;
}

void PythonCallReader::Write(std::string_view json, CallWriter& writer) {
  if (json.empty()) return;
  has_written_ = true;
  if (!is_key_written_) {
    const bool is_first = !writer.in_call();
    if (is_first) writer.Begin(name_);
    writer.Arguments(StrCat(is_first ? "{\"" : ", \"", key_, "\": "));
    is_key_written_ = true;
  }
  writer.Arguments(json);
}

ReadState PythonCallReader::PutCommaOrEnd(char c, CallWriter& writer) {
  if (IsJsonSpace(c)) return ReadState::kMore;
  if (c == ')') return End(writer);
  state_ = State::kKeyOrEnd;
  return c == ',' ? ReadState::kMore : ReadState::kBroken;
}

ReadState PythonCallReader::End(CallWriter& writer) {
  has_written_ = true;
  if (writer.in_call()) {
    writer.Arguments("}");
  } else {
    writer.Begin(name_);
  }
  return ReadState::kDone;
}

void PythonCallParser::Feed(std::string_view delta, std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  for (const char c : delta) Put(c);
}

void PythonCallParser::Finish(std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  const bool is_lost_space = state_ == State::kText && is_after_list_ && held_.empty();
  const bool is_lost_end =
      state_ == State::kList && has_call_ && std::all_of(held_.begin(), held_.end(), IsJsonSpace);
  if (!is_lost_space && !is_lost_end) WriteContent(held_);
}

void PythonCallParser::Put(char c) {
  switch (state_) {
    case State::kText:
      return PutText(c);
    case State::kAfterMarker:
      return PutAfterMarker(c);
    case State::kList:
      return PutList(c);
    case State::kCall:
      return PutCall(c);
  }
}

void PythonCallParser::PutText(char c) {
  held_ += c;
  const MarkerMatch begin = MatchMarker(style_.begin, held_);
  const MarkerMatch end = in_tag_ ? MatchMarker(style_.end, held_) : MarkerMatch::kNone;
  if (begin == MarkerMatch::kWhole) {
    state_ = State::kAfterMarker;
    in_tag_ = true;
    return;
  }
  if (end == MarkerMatch::kWhole) {
    held_.clear();
    space_.clear();
    in_tag_ = false;
    return;
  }
  if (begin == MarkerMatch::kPrefix || end == MarkerMatch::kPrefix) return;
  const std::string text = std::move(held_);
  held_.clear();
  PutPlain(text.front());
  for (std::size_t i = 1; i < text.size(); ++i) Put(text[i]);
}

void PythonCallParser::PutPlain(char c) {
  if (is_quiet_ && IsJsonSpace(c) && space_.size() < kMaxSpaceBytes) {
    space_ += c;
    return;
  }
  const bool may_open = !style_.must_be_marked && (is_line_start_ || is_after_list_);
  if (c == '[' && may_open) return OpenList(c);
  WriteContent({&c, 1});
}

void PythonCallParser::PutAfterMarker(char c) {
  if (c == '[') return OpenList(c);
  if (!IsJsonSpace(c) || held_.size() >= kMaxSpaceBytes) return BreakOff(c);
  held_ += c;
}

void PythonCallParser::OpenList(char c) {
  state_ = State::kList;
  has_call_ = false;
  has_comma_ = false;
  held_ += c;
}

void PythonCallParser::PutList(char c) {
  if (c == ']' && has_call_) return EndList();
  if (IsJsonSpace(c) && held_.size() < kMaxSpaceBytes) {
    held_ += c;
  } else if (c == ',' && has_call_ && !has_comma_) {
    has_comma_ = true;
    held_ += c;
  } else if (IsNameStart(c) && (has_comma_ || !has_call_)) {
    state_ = State::kCall;
    call_.Reset();
    PutCall(c);
  } else {
    BreakOff(c);
  }
}

void PythonCallParser::PutCall(char c) {
  const ReadState read = held_.size() < kMaxHeldBytes ? call_.Put(c, writer_) : ReadState::kBroken;
  const bool is_broken = read == ReadState::kBroken;
  if (call_.has_written()) {
    held_.clear();
    space_.clear();
  } else if (!is_broken) {
    held_ += c;
  }
  if (is_broken) return BreakOff(c);
  if (read != ReadState::kDone) return;
  writer_.End();
  state_ = State::kList;
  has_call_ = true;
  has_comma_ = false;
}

void PythonCallParser::EndList() {
  held_.clear();
  state_ = State::kText;
  is_quiet_ = true;
  is_after_list_ = true;
  is_line_start_ = false;
}

// What was held is no call, or the rest of a broken one.
void PythonCallParser::BreakOff(char c) {
  if (writer_.in_call()) {
    writer_.End();
  } else if (!has_call_) {
    in_tag_ = false;
  }
  const std::string text = std::move(held_);
  held_.clear();
  state_ = State::kText;
  WriteContent(text);
  Put(c);
}

void PythonCallParser::WriteContent(std::string_view text) {
  writer_.Content(space_);
  writer_.Content(text);
  space_.clear();
  if (text.empty()) return;
  is_quiet_ = false;
  is_after_list_ = false;
  is_line_start_ = text.back() == '\n';
}

}  // namespace quire
