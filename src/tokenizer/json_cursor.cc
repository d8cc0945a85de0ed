#include "tokenizer/json_cursor.h"

#include <charconv>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr int kMaxDepth = 64;

}  // namespace

void JsonCursor::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    ++at_;
  }
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

bool JsonCursor::ReadString(std::string& out) {
  out.clear();
  if (!Consume('"')) return false;
  while (at_ < text_.size()) {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\\' &&
           static_cast<unsigned char>(text_[end]) >= 0x20) {
      ++end;
    }
    out.append(text_, at_, end - at_);
    at_ = end;
    if (at_ == text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20) return false;
    if (text_[at_++] == '"') return true;
    if (!ReadEscape(out)) return false;
  }
  return false;
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
  const std::size_t begin = at_;
  int depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\') ++at_;
      }
      if (at_ >= text_.size()) return false;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return false;
    } else if (c == ']' || c == '}') {
      if (--depth < 0) break;
    } else if (c == ',' && depth == 0) {
      break;
    }
    ++at_;
  }
  if (depth > 0 || at_ == begin) return false;
  out = text_.substr(begin, at_ - begin);
  return true;
}

Result<std::vector<std::pair<std::string, std::string_view>>> SplitObject(std::string_view text) {
  constexpr std::size_t kMaxMembers = 1000;
  std::vector<std::pair<std::string, std::string_view>> out;
  JsonCursor cursor(text);
  const auto fault = [&] {
    return InvalidArgument(StrCat("not a JSON object, at byte ", cursor.position()));
  };
  if (!cursor.Consume('{')) return fault();
  if (cursor.Consume('}')) return cursor.AtEnd() ? Result(std::move(out)) : fault();
  do {
    std::string name;
    std::string_view value;
    if (!cursor.ReadString(name) || !cursor.Consume(':') || !cursor.SkipValue(value)) {
      return fault();
    }
    std::erase_if(out, [&](const auto& member) { return member.first == name; });
    out.emplace_back(std::move(name), value);
    if (out.size() > kMaxMembers) return InvalidArgument("an object with too many members");
  } while (cursor.Consume(','));
  if (!cursor.Consume('}') || !cursor.AtEnd()) return fault();
  return out;
}

}  // namespace quire
