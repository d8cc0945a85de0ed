// Reads the JSON object of one call: {"name": …, "arguments": …}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/tool_parsers/call_writer.h"
#include "server/tool_parsers/json_value.h"

namespace quire {

enum class CallKeys {
  kAny,     // other members are passed over; a call may lack arguments
  kStrict,  // only "name", "arguments" or "parameters", "id" and "type"; arguments must be there
};

// Members may come in any order. The call begins in the writer as soon as its name and the start
// of its arguments are known; arguments that come before the name wait for it.
class CallObjectReader {
 public:
  static constexpr std::size_t kMaxNameBytes = 256;

  explicit CallObjectReader(CallKeys keys) : keys_(keys) {}

  // Gets ready for another object.
  void Reset() { *this = CallObjectReader(keys_); }

  // From the opening brace to the closing one; never kDoneBefore. Broken before the writer is in
  // a call: nothing was written. The end of the call is the caller's to write.
  ReadState Put(char c, CallWriter& writer);

  // Whether the last byte went to the writer as part of the arguments, or began them.
  bool is_streaming() const { return is_streaming_; }

 private:
  enum class State { kOpen, kKeyOrEnd, kKey, kInKey, kColon, kValue, kInValue, kCommaOrEnd };
  enum class Member { kName, kArguments, kOther };

  ReadState PutBetween(char c, CallWriter& writer);
  ReadState PutInKey(char c);
  ReadState PutInValue(char c, CallWriter& writer);
  ReadState EndKey();
  ReadState EndValue(CallWriter& writer);
  ReadState EndObject(CallWriter& writer);
  bool BeginsToStream(char first, CallWriter& writer);
  bool TakeName();
  void WriteHeld(CallWriter& writer);

  CallKeys keys_;
  State state_ = State::kOpen;
  Member member_ = Member::kOther;
  bool is_escaped_ = false;  // in a key
  bool is_streaming_ = false;
  std::string key_;
  std::string value_;  // the value being read, unless it streams or is of no use
  JsonValueReader reader_;
  std::string name_;
  bool has_arguments_ = false;            // seen or being read; later ones are passed over
  std::optional<std::string> arguments_;  // whole, waiting for the name
};

}  // namespace quire
