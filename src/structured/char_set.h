// Sets of code points.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace quire::structured {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Both ends belong to it.
struct CharRange {
  char32_t first = 0;
  char32_t last = 0;
  friend auto operator<=>(const CharRange&, const CharRange&) = default;
};

// Code points that can stand in valid UTF-8, as sorted ranges that neither meet nor touch.
class CharSet {
 public:
  CharSet() = default;
  explicit CharSet(char32_t code) : ranges_{{code, code}} {}
  CharSet(char32_t first, char32_t last);
  static CharSet All() { return {0, kLastCodePoint}; }  // without the surrogates

  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool Has(char32_t code) const;

  CharSet operator|(const CharSet& other) const;
  CharSet operator&(const CharSet& other) const;
  CharSet operator-(const CharSet& other) const { return *this & ~other; }
  CharSet operator~() const;
  CharSet& operator|=(const CharSet& other) { return *this = *this | other; }
  friend auto operator<=>(const CharSet&, const CharSet&) = default;

 private:
  void Normalize();
  std::vector<CharRange> ranges_;
};

}  // namespace quire::structured
