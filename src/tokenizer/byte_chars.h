// GPT-2's printable stand-ins for the 256 bytes, in which byte-level vocabularies are spelled.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

namespace byte_chars_internal {

constexpr bool StandsForItself(int byte) {
  return (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
}

constexpr std::array<std::uint16_t, 256> MakeCharOfByte() {
  std::array<std::uint16_t, 256> table{};
  std::uint16_t extra = 256;
  for (int byte = 0; byte < 256; ++byte) {
    table[byte] = StandsForItself(byte) ? static_cast<std::uint16_t>(byte) : extra++;
  }
  return table;
}

constexpr std::array<std::int16_t, 0x144> MakeByteOfChar() {
  std::array<std::int16_t, 0x144> table{};
  for (auto& entry : table) entry = -1;
  const auto chars = MakeCharOfByte();
  for (int byte = 0; byte < 256; ++byte) table[chars[byte]] = static_cast<std::int16_t>(byte);
  return table;
}

}  // namespace byte_chars_internal

inline constexpr auto kCharOfByte = byte_chars_internal::MakeCharOfByte();
inline constexpr auto kByteOfChar = byte_chars_internal::MakeByteOfChar();

// The byte that a code point stands for; -1 where it stands for none.
constexpr int ByteOfChar(char32_t code) {
  return code < kByteOfChar.size() ? kByteOfChar[code] : -1;
}

// Appends the stand-in of each byte.
void AppendByteChars(std::string& out, std::string_view bytes);

// Appends the bytes that the stand-ins of `text` (valid UTF-8) stand for. False, with nothing
// appended, where a code point stands for none.
bool AppendBytesOfChars(std::string& out, std::string_view text);

}  // namespace quire
