// JSON a byte at a time: where a value ends, how a byte of a string is written.
#pragma once

#include <string>
#include <string_view>

namespace quire {

// White space of JSON; also what may stand around a call.
inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Appends a byte of a JSON string as it is written there.
void AppendEscaped(std::string& out, char c);

enum class ReadState {
  kMore,        // the byte belongs to what is read, which goes on
  kDone,        // the byte is its last
  kDoneBefore,  // it had ended before this byte
  kBroken,      // the byte cannot stand here
};

// Strings and the nesting of brackets are all that it looks at: what a model wrote within (a line
// break in a string, a word that is no JSON) goes to the client as it stands. Nesting is bounded
// by kMaxDepth.
class JsonValueReader {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  // Gets ready for another value.
  void Reset();

  // The first byte may not be white space.
  ReadState Put(char c);

 private:
  ReadState PutFirst(char c);

  enum class Kind { kNone, kString, kBrackets, kWord };
  Kind kind_ = Kind::kNone;
  std::string closers_;  // of the open brackets, innermost last
  bool in_string_ = false;
  bool is_escaped_ = false;
};

// The arguments of a call as text: `value` itself, but "{}" for null, and what is in the string
// where a model wrote an object as a string.
std::string ArgumentsText(std::string_view value);

}  // namespace quire
