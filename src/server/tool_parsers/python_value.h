// Turns a Python literal into JSON, a byte at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/tool_parsers/json_value.h"

namespace quire {

// Takes strings (also in triple quotes), numbers, True, False, None, lists, tuples (as lists) and
// dicts with such keys. The JSON is spaced as Python's json.dumps spaces it; text stays as it is
// but for what JSON must escape. Nesting is bounded by JsonValueReader::kMaxDepth, a number or
// name by 256 bytes.
class PythonValueReader {
 public:
  // Gets ready for another value.
  void Reset() { *this = PythonValueReader(); }

  // Appends to `out` what `c` adds to the JSON. White space before the value is passed over.
  ReadState Put(char c, std::string& out);

 private:
  enum class State {
    kValue,         // a value must come
    kValueOrClose,  // or the end of the list
    kKeyOrClose,    // of a dict
    kColon,
    kCommaOrClose,
    kWord,
    kFirstQuote,   // one quote has come
    kSecondQuote,  // two quotes have: an empty string, or the third is to come
    kString,
    kEscape,  // after a backslash
    kDigits,  // of an escape by number
  };

  ReadState PutStart(char c, std::string& out);
  ReadState PutCommaOrClose(char c);
  ReadState PutWord(char c, std::string& out);
  ReadState PutQuote(char c, std::string& out);
  ReadState PutString(char c, std::string& out);
  ReadState PutEscape(char c, std::string& out);
  ReadState PutDigits(char c, std::string& out);
  ReadState Open(char c, std::string& out);
  ReadState Close(char c, std::string& out);
  ReadState EndString(std::string& out);
  ReadState EndBefore(char c, std::string& out);
  ReadState EndValue();
  void BeginDigits(char kind, int max_digits);
  void EndDigits(std::string& out);
  void WriteComma(std::string& out);

  State state_ = State::kValue;
  std::string closers_;  // of the open brackets, innermost last
  bool is_key_ = false;  // what is being read is a key of a dict
  bool needs_comma_ = false;
  std::string word_;
  char quote_ = 0;
  bool is_triple_ = false;
  int quote_run_ = 0;  // quotes met in a row in a triple-quoted string
  char digits_kind_ = 0;
  int max_digits_ = 0;
  std::string digits_;
};

}  // namespace quire
