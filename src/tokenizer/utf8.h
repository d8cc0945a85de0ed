// Walking and writing UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

struct CodePoint {
  char32_t code;
  int length;  // in bytes
};

// The code point at the start of `text`, which must be valid UTF-8 and not empty.
inline CodePoint FirstCodePoint(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {static_cast<char32_t>((lead & 0x1F) << 6 | (byte(1) & 0x3F)), 2};
  if (lead < 0xF0) {
    return {static_cast<char32_t>((lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)),
            3};
  }
  return {static_cast<char32_t>((lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 |
                                (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F)),
          4};
}

// The code point at the end of `text`, likewise.
inline CodePoint LastCodePoint(std::string_view text) {
  std::size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return FirstCodePoint(text.substr(start));
}

inline void AppendUtf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::u32string ToCodePoints(std::string_view text);  // of valid UTF-8
std::string FromCodePoints(std::u32string_view codes);
std::size_t CountCodePoints(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// How the bytes at some place read: a valid sequence, an invalid one, or one that is cut off by
// the end of the text but could still become valid. `length` is that of the sequence, or of the
// maximal part of one that counts as a single U+FFFD.
struct Utf8Step {
  enum class Kind : std::uint8_t { kValid, kInvalid, kIncomplete } kind;
  int length;
};
Utf8Step ReadUtf8(std::string_view text);

// Appends `bytes` with U+FFFD for each maximal part of an invalid sequence, as the Unicode standard
// advises and Rust and Python do.
void AppendLossy(std::string& out, std::string_view bytes);

}  // namespace quire
