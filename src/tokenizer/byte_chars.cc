#include "tokenizer/byte_chars.h"

#include "tokenizer/utf8.h"

namespace quire {

void AppendByteChars(std::string& out, std::string_view bytes) {
  for (const char c : bytes) AppendUtf8(out, kCharOfByte[static_cast<unsigned char>(c)]);
}

bool AppendBytesOfChars(std::string& out, std::string_view text) {
  const std::size_t before = out.size();
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    const int byte = ByteOfChar(point.code);
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(byte);
    text.remove_prefix(point.length);
  }
  return true;
}

}  // namespace quire
