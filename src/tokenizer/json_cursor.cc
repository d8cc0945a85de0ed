#include "tokenizer/json_cursor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/byte_block.h"
#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr int kMaxDepth = 64;

// The end of the string whose first byte, after the quote, is at `at`: the position of the closing
// quote, or the size of `text` where there is none.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  const std::size_t size = text.size();
  while (at < size && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, size);
}

// The bytes from `at` on; zeros behind the end of the text.
ByteBlock BlockAt(std::string_view text, std::size_t at) {
  if (text.size() - at >= ByteBlock::kBytes) return ByteBlock(text.data() + at);
  std::array<char, ByteBlock::kBytes> last{};
  std::copy(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), last.begin());
  return ByteBlock(last.data());
}

}  // namespace

// Moves the window to the one that holds `at`. Behind the text stand zero bytes, which end blanks
// and strings.
void JsonCursor::LookAt(std::size_t at) {
  window_.begin = at - at % ByteBlock::kBytes;
  const ByteBlock block = BlockAt(text_, window_.begin);
  window_.not_space =
      ~(block.Equal(' ') | block.Equal('\n') | block.Equal('\r') | block.Equal('\t'));
  window_.string_marks =
      block.Equal('"') | block.Equal('\\') | (block.Below(0x20) & ~block.Below(0));
}

// Goes on to the first byte that the windows' `marks` know.
template <typename Marks>
void JsonCursor::SkipTo(const Marks& marks) {
  std::size_t at = at_;
  for (;;) {
    if (at - window_.begin >= ByteBlock::kBytes) LookAt(at);
    if (const std::uint64_t left = marks(window_) >> (at - window_.begin); left != 0) {
      at_ = at + static_cast<std::size_t>(std::countr_zero(left));
      return;
    }
    at = window_.begin + ByteBlock::kBytes;
  }
}

void JsonCursor::SkipSpace() {
  if (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) > ' ') return;
  SkipTo([](const Window& window) { return window.not_space; });
}

// To the end of what needs no care in a string: a quote, a backslash, a control byte or the end.
void JsonCursor::SkipPlain() {
  SkipTo([](const Window& window) { return window.string_marks; });
}

char JsonCursor::Peek() {
  SkipSpace();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonCursor::Consume(char c) {
  if (Peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

bool JsonCursor::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

bool JsonCursor::ReadString(std::string_view& out, std::string& buffer) {
  if (!Consume('"')) return false;
  const std::size_t begin = at_;
  SkipPlain();
  if (at_ < text_.size() && text_[at_] == '"') {
    out = text_.substr(begin, at_++ - begin);
    return true;
  }
  buffer.assign(text_, begin, at_ - begin);
  while (at_ < text_.size() && text_[at_] == '\\') {
    ++at_;
    if (!ReadEscape(buffer)) return false;
    const std::size_t plain = at_;
    SkipPlain();
    buffer.append(text_, plain, at_ - plain);
  }
  out = buffer;
  if (at_ == text_.size() || text_[at_] != '"') return false;
  ++at_;
  return true;
}

bool JsonCursor::ReadHex(std::uint32_t& out) {
  if (at_ + 4 > text_.size()) return false;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, out, 16);
  if (error != std::errc{} || end != text_.data() + at_ + 4) return false;
  at_ += 4;
  return true;
}

// What follows a backslash.
bool JsonCursor::ReadEscape(std::string& out) {
  if (at_ >= text_.size()) return false;
  constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  const char c = text_[at_++];
  if (const std::size_t known = kNames.find(c); known != std::string_view::npos) {
    out += kValues[known];
    return true;
  }
  std::uint32_t code = 0;
  if (c != 'u' || !ReadHex(code)) return false;
  if (code >= 0xDC00 && code < 0xE000) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    std::uint32_t low = 0;
    if (text_.substr(at_, 2) != "\\u") return false;
    at_ += 2;
    if (!ReadHex(low) || low < 0xDC00 || low >= 0xE000) return false;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  AppendUtf8(out, code);
  return true;
}

bool JsonCursor::ReadInteger(std::int64_t& out) {
  SkipSpace();
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
  if (error != std::errc{}) return false;
  at_ = static_cast<std::size_t>(end - text_.data());
  const char next = at_ < text_.size() ? text_[at_] : '\0';
  return next != '.' && next != 'e' && next != 'E';
}

bool JsonCursor::ReadNumber(double& out) {
  SkipSpace();
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
  if (error != std::errc{}) return false;
  at_ = static_cast<std::size_t>(end - text_.data());
  return true;
}

namespace {

// Bytes of a block that a backslash before them takes the meaning from; `is_next` says so of the
// first byte, and then of the first one behind the block.
std::uint64_t EscapedBytes(std::uint64_t backslashes, bool& is_next) {
  std::uint64_t escaped = is_next ? 1 : 0;
  is_next = false;
  for (backslashes &= ~escaped; backslashes != 0;) {
    const std::uint64_t first = backslashes & -backslashes;
    escaped |= first << 1;
    is_next = first >> 63 != 0;
    backslashes &= ~(first | first << 1);
  }
  return escaped;
}

// Each bit is the parity of those up to it: from each opening quote to before the closing one.
std::uint64_t RunningParity(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Of a text whose bracket before `at` opens: the position behind the bracket that closes it, and a
// depth of 0; that of one that nests too deep; or the size of the text.
std::size_t EndOfNested(std::string_view text, std::size_t at, int& depth) {
  bool is_escaped = false;
  std::uint64_t in_string = 0;  // all bits, where a string is open
  depth = 1;
  for (; at < text.size(); at += ByteBlock::kBytes) {
    const ByteBlock block = BlockAt(text, at);
    const std::uint64_t quotes = block.Equal('"') & ~EscapedBytes(block.Equal('\\'), is_escaped);
    const std::uint64_t strings = RunningParity(quotes) ^ in_string;
    const std::uint64_t opening = block.EqualFolded('{') & ~strings;
    std::uint64_t brackets = opening | (block.EqualFolded('}') & ~strings);
    for (; brackets != 0; brackets &= brackets - 1) {
      depth += (opening & brackets & -brackets) != 0 ? 1 : -1;
      const std::size_t here = at + static_cast<std::size_t>(std::countr_zero(brackets));
      if (depth > kMaxDepth) return here;
      if (depth == 0) return here + 1;
    }
    in_string = std::uint64_t{0} - (strings >> 63);
  }
  return text.size();
}

}  // namespace

bool JsonCursor::SkipValue(std::string_view& out) {
  SkipSpace();
  const std::string_view text = text_;
  const std::size_t begin = at_;
  std::size_t at = begin;
  bool is_whole = true;
  while (is_whole && at < text.size()) {
    const char c = text[at];
    if (c == ',' || c == ']' || c == '}') break;
    ++at;
    if (c == '"') {
      at = EndOfString(text, at);
      is_whole = at < text.size();
      at += is_whole;
    } else if (c == '[' || c == '{') {
      int depth = 0;
      at = EndOfNested(text, at, depth);
      is_whole = depth == 0;
    }
  }
  at_ = at;
  if (!is_whole || at == begin) return false;
  out = text.substr(begin, at - begin);
  return true;
}

namespace {

// The value at hand, whose members go into `members` where it is an object.
bool TakeMembers(JsonCursor& cursor, JsonMembers& members, std::string_view inner,
                 JsonMembers* inner_members) {
  constexpr std::size_t kMaxMembers = 1000;
  members.clear();
  if (!cursor.Consume('{')) return false;
  if (cursor.Consume('}')) return true;
  do {
    std::string_view name, value;
    std::string buffer;
    if (!cursor.ReadString(name, buffer) || !cursor.Consume(':')) return false;
    const bool is_inner = inner_members != nullptr && name == inner && cursor.Peek() == '{';
    const std::size_t begin = cursor.position();
    if (is_inner ? !TakeMembers(cursor, *inner_members, {}, nullptr) : !cursor.SkipValue(value)) {
      return false;
    }
    if (is_inner) value = cursor.Since(begin);
    std::erase_if(members, [&](const auto& member) { return member.first == name; });
    members.emplace_back(name, value);
    if (members.size() > kMaxMembers) return false;
  } while (cursor.Consume(','));
  return cursor.Consume('}');
}

}  // namespace

Result<JsonMembers> SplitObject(std::string_view text, std::string_view inner,
                                JsonMembers& inner_members) {
  JsonMembers members;
  JsonCursor cursor(text);
  if (!TakeMembers(cursor, members, inner, &inner_members) || !cursor.AtEnd()) {
    return InvalidArgument(StrCat("not a JSON object, at byte ", cursor.position()));
  }
  return members;
}

}  // namespace quire
