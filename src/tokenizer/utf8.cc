#include "tokenizer/utf8.h"

#include <algorithm>

namespace quire {

std::u32string ToCodePoints(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    out += point.code;
    text.remove_prefix(point.length);
  }
  return out;
}

std::string FromCodePoints(std::u32string_view codes) {
  std::string out;
  out.reserve(codes.size());
  for (const char32_t code : codes) AppendUtf8(out, code);
  return out;
}

std::size_t CountCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

namespace {

// What may follow a lead byte: the length of the sequence and the range of the second byte.
struct Lead {
  int length;
  unsigned char low, high;
};

Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {1, 0x80, 0xBF};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step ReadUtf8(std::string_view text) {
  const Lead lead = LeadOf(static_cast<unsigned char>(text[0]));
  if (lead.length == 0) return {Utf8Step::Kind::kInvalid, 1};
  for (int i = 1; i < lead.length; ++i) {
    if (static_cast<std::size_t>(i) >= text.size()) return {Utf8Step::Kind::kIncomplete, i};
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {Utf8Step::Kind::kInvalid, i};
  }
  return {Utf8Step::Kind::kValid, lead.length};
}

void AppendLossy(std::string& out, std::string_view bytes) {
  std::size_t start = 0;  // of the valid bytes not yet copied
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Step step = ReadUtf8(bytes.substr(at));
    if (step.kind != Utf8Step::Kind::kValid) {
      out.append(bytes, start, at - start);
      out += kReplacementCharacter;
      start = at + step.length;
    }
    at += step.length;
  }
  out.append(bytes, start, at - start);
}

}  // namespace quire
