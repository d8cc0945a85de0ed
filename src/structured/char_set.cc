#include "structured/char_set.h"

#include <algorithm>

namespace quire::structured {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

}  // namespace

CharSet::CharSet(char32_t first, char32_t last) {
  if (first < kFirstSurrogate)
    ranges_.push_back({first, std::min<char32_t>(last, kFirstSurrogate - 1)});
  if (last > kLastSurrogate)
    ranges_.push_back({std::max<char32_t>(first, kLastSurrogate + 1), last});
  if (first > last) ranges_.clear();
}

bool CharSet::Has(char32_t code) const {
  const auto after = std::ranges::upper_bound(ranges_, code, {}, &CharRange::first);
  return after != ranges_.begin() && std::prev(after)->last >= code;
}

void CharSet::Normalize() {
  std::ranges::sort(ranges_);
  std::vector<CharRange> merged;
  for (const CharRange& range : ranges_) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  ranges_ = std::move(merged);
}

CharSet CharSet::operator|(const CharSet& other) const {
  CharSet both = *this;
  both.ranges_.insert(both.ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  both.Normalize();
  return both;
}

CharSet CharSet::operator&(const CharSet& other) const {
  CharSet common;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const char32_t first = std::max(a->first, b->first);
    const char32_t last = std::min(a->last, b->last);
    if (first <= last) common.ranges_.push_back({first, last});
    (a->last < b->last ? a : b)++;
  }
  return common;
}

CharSet CharSet::operator~() const {
  CharSet rest;
  char32_t next = 0;
  for (const CharRange& range : ranges_) {
    if (range.first > next) rest |= CharSet(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) rest |= CharSet(next, kLastCodePoint);
  return rest;
}

}  // namespace quire::structured
