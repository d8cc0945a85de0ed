#include "tokenizer/json_cursor.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr int kMaxDepth = 64;

// Bytes that mean something to a reader that passes over a value.
constexpr std::array<bool, 256> kMarks = [] {
  std::array<bool, 256> marks{};
  for (const unsigned char c : std::string_view("\"[]{},")) marks[c] = true;
  return marks;
}();

bool IsMark(char c) { return kMarks[static_cast<unsigned char>(c)]; }

// The end of the string whose first byte, after the quote, is at `at`: the position of the closing
// quote, or the size of `text` where there is none.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  const std::size_t size = text.size();
  while (at < size && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, size);
}

// The position of the first quote, backslash or control byte of a string from `at` on; the size of
// `text` where there is none.
std::size_t EndOfPlain(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '"' && text[at] != '\\' &&
         static_cast<unsigned char>(text[at]) >= 0x20) {
    ++at;
  }
  return at;
}

}  // namespace

void JsonCursor::SkipSpace() {
  const std::string_view text = text_;
  std::size_t at = at_;
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
    ++at;
  }
  at_ = at;
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
  at_ = EndOfPlain(text_, at_);
  if (at_ < text_.size() && text_[at_] == '"') {
    out = text_.substr(begin, at_++ - begin);
    return true;
  }
  buffer.assign(text_, begin, at_ - begin);
  while (at_ < text_.size() && text_[at_] == '\\') {
    ++at_;
    if (!ReadEscape(buffer)) return false;
    const std::size_t plain = at_;
    at_ = EndOfPlain(text_, at_);
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

bool JsonCursor::SkipValue(std::string_view& out) {
  SkipSpace();
  // Locals, not members: the loop runs over every byte of files of many megabytes.
  const std::string_view text = text_;
  const std::size_t begin = at_;
  std::size_t at = begin;
  int depth = 0;
  bool is_string_open = false;
  for (;; ++at) {
    while (at < text.size() && !IsMark(text[at])) ++at;
    if (at == text.size()) break;
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at + 1);
      is_string_open = at == text.size();
      if (is_string_open) break;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) break;
    } else if (c == ',') {
      if (depth == 0) break;
    } else if (--depth < 0) {
      break;
    }
  }
  at_ = at;
  if (depth > 0 || at == begin || is_string_open) return false;
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
