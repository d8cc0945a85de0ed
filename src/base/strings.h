// Small text functions: concatenation, splitting, numbers to and from text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quire {

namespace strings_internal {

inline void Append(std::string& out, std::string_view piece) { out += piece; }
inline void Append(std::string& out, const char* piece) { out += piece; }
inline void Append(std::string& out, char piece) { out += piece; }
inline void Append(std::string& out, bool piece) { out += piece ? "true" : "false"; }
template <typename T>
requires std::integral<T> || std::floating_point<T>
void Append(std::string& out, T piece) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, piece);
  out.append(digits, end.ptr);
}

}  // namespace strings_internal

// The pieces one after another; numbers in their shortest exact decimal form.
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (strings_internal::Append(out, pieces), ...);
  return out;
}

// The parts of `text` between `separator`s; an empty text has one empty part.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The items joined with `separator` between them.
template <typename Items>
std::string Join(const Items& items, std::string_view separator) {
  std::string out;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += separator;
    is_first = false;
    strings_internal::Append(out, item);
  }
  return out;
}

// The whole of `text` as a number, without white space or a plus sign; nullopt when it is not one
// or does not fit.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [ptr, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// The text made safe for a message: control bytes and invalid UTF-8 as \xNN, at most `max_bytes`
// of it and then "…".
std::string Printable(std::string_view text, std::size_t max_bytes = 80);

// "1.2 GB" (decimal units) for a person.
std::string HumanBytes(std::uint64_t bytes);

// The member of `names` nearest to `name` by edit distance, if near enough to be a likely slip.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& names);

// Length in bytes of the valid UTF-8 sequence at the start of `text`, 0 when it is not one.
int Utf8SequenceLength(std::string_view text);

// Whether all of `text` is valid UTF-8.
bool IsValidUtf8(std::string_view text);

}  // namespace quire
