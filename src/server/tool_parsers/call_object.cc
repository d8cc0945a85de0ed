#include "server/tool_parsers/call_object.h"

#include <utility>

#include "formats/json.h"

namespace quire {

ReadState CallObjectReader::Put(char c, CallWriter& writer) {
  if (state_ == State::kInKey) return PutInKey(c);
  if (state_ == State::kInValue) return PutInValue(c, writer);
  if (IsJsonSpace(c)) return state_ == State::kOpen ? ReadState::kBroken : ReadState::kMore;
  return PutBetween(c, writer);
}

ReadState CallObjectReader::PutBetween(char c, CallWriter& writer) {
  switch (state_) {
    case State::kOpen:
      state_ = State::kKeyOrEnd;
      return c == '{' ? ReadState::kMore : ReadState::kBroken;
    case State::kKeyOrEnd:
      if (c == '}') return EndObject(writer);
      [[fallthrough]];
    case State::kKey:
      state_ = State::kInKey;
      key_.clear();
      return c == '"' ? ReadState::kMore : ReadState::kBroken;
    case State::kColon:
      state_ = State::kValue;
      return c == ':' ? ReadState::kMore : ReadState::kBroken;
    case State::kValue:
      state_ = State::kInValue;
      reader_.Reset();
      value_.clear();
      is_streaming_ = BeginsToStream(c, writer);
      return PutInValue(c, writer);
    case State::kCommaOrEnd:
      if (c == '}') return EndObject(writer);
      state_ = State::kKey;
      return c == ',' ? ReadState::kMore : ReadState::kBroken;
    case State::kInKey:
    case State::kInValue:
      break;
  }
  return ReadState::kBroken;
}

ReadState CallObjectReader::PutInKey(char c) {
  if (c == '"' && !is_escaped_) return EndKey();
  is_escaped_ = c == '\\' && !is_escaped_;
  key_ += c;
  return ReadState::kMore;
}

ReadState CallObjectReader::EndKey() {
  state_ = State::kColon;
  if (key_ == "name" && name_.empty()) {
    member_ = Member::kName;
  } else if ((key_ == "arguments" || key_ == "parameters") && !has_arguments_) {
    member_ = Member::kArguments;
    has_arguments_ = true;
  } else {
    member_ = Member::kOther;
    const bool is_known = key_ == "id" || key_ == "type";
    if (keys_ == CallKeys::kStrict && !is_known) return ReadState::kBroken;
  }
  return ReadState::kMore;
}

// An object of arguments is passed on as it comes once the name is there.
bool CallObjectReader::BeginsToStream(char first, CallWriter& writer) {
  if (member_ != Member::kArguments || name_.empty() || first != '{') return false;
  writer.Begin(name_);
  return true;
}

ReadState CallObjectReader::PutInValue(char c, CallWriter& writer) {
  const ReadState read = reader_.Put(c);
  if (read == ReadState::kBroken) return read;
  if (read != ReadState::kDoneBefore) {
    if (is_streaming_) {
      writer.Arguments({&c, 1});
    } else if (member_ != Member::kOther) {
      value_ += c;
    }
  }
  if (read == ReadState::kMore) return read;
  if (EndValue(writer) == ReadState::kBroken) return ReadState::kBroken;
  return read == ReadState::kDoneBefore ? Put(c, writer) : ReadState::kMore;
}

ReadState CallObjectReader::EndValue(CallWriter& writer) {
  state_ = State::kCommaOrEnd;
  if (is_streaming_) {
    is_streaming_ = false;
    return ReadState::kMore;
  }
  if (member_ == Member::kOther) return ReadState::kMore;
  if (member_ == Member::kName && !TakeName()) return ReadState::kBroken;
  if (member_ == Member::kArguments) arguments_ = ArgumentsText(value_);
  WriteHeld(writer);
  return ReadState::kMore;
}

bool CallObjectReader::TakeName() {
  const Result<Json> name = ParseJson(value_);
  if (!name.ok() || !name->is_string()) return false;
  name_ = name->string();
  return !name_.empty() && name_.size() <= kMaxNameBytes;
}

// The call whose name and arguments came in the less usual order, or whose arguments are no
// object.
void CallObjectReader::WriteHeld(CallWriter& writer) {
  if (name_.empty() || !arguments_.has_value()) return;
  writer.Begin(name_);
  writer.Arguments(*arguments_);
  arguments_.reset();
}

ReadState CallObjectReader::EndObject(CallWriter& writer) {
  if (name_.empty()) return ReadState::kBroken;
  if (!has_arguments_) {
    if (keys_ == CallKeys::kStrict) return ReadState::kBroken;
    writer.Begin(name_);
  }
  return ReadState::kDone;
}

}  // namespace quire
