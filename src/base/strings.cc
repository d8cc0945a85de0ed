#include "base/strings.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/byte_block.h"

namespace quire {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

int Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < static_cast<std::size_t>(length)) return 0;
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and values past U+10FFFF.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

namespace {

// How many of the 64 bytes at `bytes` are whole sequences of valid UTF-8, at least 61 unless one of
// them is at fault: then 0.
std::size_t ValidUtf8InBlock(const char* bytes) {
  const ByteBlock block(bytes);
  const std::uint64_t high = block.Below(0);
  if (high == 0) return ByteBlock::kBytes;
  const auto below = [&](unsigned char byte) {
    return block.Below(static_cast<signed char>(byte));
  };
  const auto is = [&](unsigned char byte) { return block.Equal(static_cast<char>(byte)); };
  const std::uint64_t continuation = below(0xC0);
  const std::uint64_t lead = high & ~continuation;
  const std::uint64_t lead3 = high & ~below(0xE0), lead4 = high & ~below(0xF0);
  const std::uint64_t wanted = lead << 1 | lead3 << 2 | lead4 << 3;
  if (wanted != continuation || (lead & below(0xC2)) != 0 || (high & ~below(0xF5)) != 0) return 0;
  if (lead3 != 0) {  // overlong forms, surrogates and values past U+10FFFF
    const std::uint64_t below_90 = below(0x90), below_a0 = below(0xA0);
    const std::uint64_t bad = (is(0xE0) << 1 & below_a0) | (is(0xED) << 1 & ~below_a0) |
                              (is(0xF0) << 1 & below_90) | (is(0xF4) << 1 & ~below_90);
    if (bad != 0) return 0;
  }
  // A sequence that goes on behind the block belongs to the next one.
  if (lead >> 63 != 0) return 63;
  if (lead3 >> 62 != 0) return 62;
  return lead4 >> 61 != 0 ? 61 : ByteBlock::kBytes;
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  while (text.size() >= ByteBlock::kBytes) {
    const std::size_t valid = ValidUtf8InBlock(text.data());
    if (valid == 0) return false;
    text.remove_prefix(valid);
  }
  std::array<char, ByteBlock::kBytes> rest{};
  std::copy(text.begin(), text.end(), rest.begin());
  return ValidUtf8InBlock(rest.data()) != 0;
}

std::string Printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= max_bytes) return out + "…";
    const int length = Utf8SequenceLength(text);
    const unsigned char lead = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F, which terminals obey like the controls below U+0020.
    const bool is_high_control =
        length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || lead < 0x20 || lead == 0x7F || is_high_control) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", lead);
      out += escaped;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, static_cast<std::size_t>(length));
      text.remove_prefix(static_cast<std::size_t>(length));
    }
  }
  return out;
}

std::string HumanBytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& names) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : names) {
    const std::size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace quire
