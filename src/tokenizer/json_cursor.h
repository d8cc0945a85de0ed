// Reads the large parts of a tokenizer.json, vocabulary and merges, without a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace quire {

// Walks a JSON text, which must be valid UTF-8 and outlive it. Methods are false where the text is
// not as they want it; the cursor then stands at the fault.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  bool Consume(char c);  // after white space; false: something else stands there
  bool AtEnd();          // only white space is left
  // The text of a string: as it stands in the JSON where it has no escapes, else put together in
  // `buffer`.
  bool ReadString(std::string_view& out, std::string& buffer);
  bool ReadInteger(std::int64_t& out);
  bool ReadNumber(double& out);
  // Passes over any value; nesting is bounded. What it passes over is not checked but for
  // brackets and strings.
  bool SkipValue(std::string_view& out);

  char Peek();  // after white space; NUL at the end
  std::size_t position() const { return at_; }
  std::string_view Since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

 private:
  // What stands where in 64 bytes of the text, for passing over runs of blanks and of letters.
  struct Window {
    std::size_t begin = std::string_view::npos / 2;  // far from any text
    std::uint64_t not_space = 0;
    std::uint64_t string_marks = 0;  // quote, backslash, control byte
  };

  void SkipSpace();
  void SkipPlain();
  void LookAt(std::size_t at);
  template <typename Marks>
  void SkipTo(const Marks& marks);
  bool ReadEscape(std::string& out);
  bool ReadHex(std::uint32_t& out);

  std::string_view text_;
  std::size_t at_ = 0;
  Window window_;
};

// Members of an object, their values as they stand in the text; of two of one name the later
// counts.
using JsonMembers = std::vector<std::pair<std::string, std::string_view>>;

// The members of an object. Those of its member `inner`, where that is an object too, go into
// `inner_members` in the same pass over the text. kInvalidArgument where it is no object.
Result<JsonMembers> SplitObject(std::string_view text, std::string_view inner,
                                JsonMembers& inner_members);

}  // namespace quire
