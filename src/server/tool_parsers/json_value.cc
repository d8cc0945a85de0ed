#include "server/tool_parsers/json_value.h"

#include "formats/json.h"

namespace quire {

void AppendEscaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\r') {
    out += "\\r";
  } else if (byte < 0x20) {
    out += "\\u00";
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  } else {
    out += c;
  }
}

void JsonValueReader::Reset() {
  kind_ = Kind::kNone;
  closers_.clear();
  in_string_ = false;
  is_escaped_ = false;
}

ReadState JsonValueReader::PutFirst(char c) {
  switch (c) {
    case '"':
      kind_ = Kind::kString;
      in_string_ = true;
      return ReadState::kMore;
    case '{':
    case '[':
      kind_ = Kind::kBrackets;
      closers_ += c == '{' ? '}' : ']';
      return ReadState::kMore;
    case '}':
    case ']':
    case ',':
    case ':':
      return ReadState::kBroken;
    default:
      kind_ = Kind::kWord;
      return ReadState::kMore;
  }
}

ReadState JsonValueReader::Put(char c) {
  if (kind_ == Kind::kNone) return PutFirst(c);
  if (in_string_) {
    const bool ends = c == '"' && !is_escaped_;
    is_escaped_ = c == '\\' && !is_escaped_;
    in_string_ = !ends;
    return ends && kind_ == Kind::kString ? ReadState::kDone : ReadState::kMore;
  }
  if (kind_ == Kind::kWord) {
    const bool ends = IsJsonSpace(c) || c == ',' || c == '}' || c == ']';
    return ends ? ReadState::kDoneBefore : ReadState::kMore;
  }
  if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    if (closers_.size() == kMaxDepth) return ReadState::kBroken;
    closers_ += c == '{' ? '}' : ']';
  } else if (c == '}' || c == ']') {
    if (closers_.back() != c) return ReadState::kBroken;
    closers_.pop_back();
    if (closers_.empty()) return ReadState::kDone;
  }
  return ReadState::kMore;
}

std::string ArgumentsText(std::string_view value) {
  if (value == "null") return "{}";
  if (!value.starts_with('"')) return std::string(value);
  const Result<Json> text = ParseJson(value);
  if (!text.ok() || !text->is_string()) return std::string(value);
  const Result<Json> inner = ParseJson(text->string());
  return inner.ok() && inner->is_object() ? text->string() : std::string(value);
}

}  // namespace quire
