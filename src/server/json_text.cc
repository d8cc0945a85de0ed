#include "server/json_text.h"

#include <array>
#include <charconv>
#include <cstddef>

#include "base/strings.h"

namespace quire {
namespace {

// Bytes that a JSON string may hold as they are, beside those of longer UTF-8 sequences.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int byte = 0x20; byte < 0x80; ++byte) plain[static_cast<std::size_t>(byte)] = true;
  plain['"'] = plain['\\'] = false;
  return plain;
}();

bool IsPlain(char byte) { return kPlain[static_cast<unsigned char>(byte)]; }

void AppendControl(std::string& out, char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(byte) >> 4];
      out += kHex[static_cast<unsigned char>(byte) & 15];
  }
}

}  // namespace

void AppendJsonEscaped(std::string& out, std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && IsPlain(text[end])) ++end;
    out.append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      AppendControl(out, text[at++]);
      continue;
    }
    const int length = Utf8SequenceLength(text.substr(at));
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else {
      out.append(text, at, static_cast<std::size_t>(length));
      at += static_cast<std::size_t>(length);
    }
  }
}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  AppendJsonEscaped(out, text);
  out += '"';
}

void AppendInt(std::string& out, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

void AppendFloat(std::string& out, float value) {
  std::array<char, 64> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<double>(value));
  const std::string_view text(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace quire
