#include "tokenizer/graphemes.h"

#include <algorithm>

#include "tokenizer/unicode_tables.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

// In the order that tools/make_unicode_tables.py numbers them in.
enum class Break {
  kOther,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kSpacingMark,
  kPrepend,
  kRegional,
  kL,
  kV,
  kT,
  kLv,
  kLvt
};

bool IsInRanges(const unicode::CodeRange* table, int count, char32_t code, std::uint32_t* value) {
  const auto* after =
      std::upper_bound(table, table + count, code,
                       [](char32_t c, const unicode::CodeRange& range) { return c < range.first; });
  if (after == table || code > (after - 1)->last) return false;
  *value = (after - 1)->value;
  return true;
}

Break BreakOf(char32_t code) {
  if (code < 0x80) {
    if (code == '\r') return Break::kCr;
    if (code == '\n') return Break::kLf;
    return code < 32 || code == 127 ? Break::kControl : Break::kOther;
  }
  std::uint32_t value = 0;
  IsInRanges(unicode::kGraphemeBreaks, unicode::kGraphemeBreaksCount, code, &value);
  return static_cast<Break>(value);
}

bool IsPictographic(char32_t code) {
  std::uint32_t value = 0;
  return code >= 0xA9 &&
         IsInRanges(unicode::kPictographic, unicode::kPictographicCount, code, &value);
}

bool IsControl(Break b) { return b == Break::kCr || b == Break::kLf || b == Break::kControl; }

// What is known of the cluster so far.
struct Cluster {
  Break last;
  bool has_picture;      // a pictograph, then only extending marks
  bool joins_picture;    // … and then a joiner
  bool is_odd_regional;  // an odd number of regional indicators at its end
};

bool StaysTogether(const Cluster& cluster, Break next, char32_t code) {
  using enum Break;
  if (cluster.last == kCr) return next == kLf;
  if (IsControl(cluster.last) || IsControl(next)) return false;
  if (next == kExtend || next == kZwj || next == kSpacingMark) return true;
  if (cluster.last == kPrepend) return true;
  if (cluster.last == kL) return next == kL || next == kV || next == kLv || next == kLvt;
  if (cluster.last == kLv || cluster.last == kV) return next == kV || next == kT;
  if (cluster.last == kLvt || cluster.last == kT) return next == kT;
  if (cluster.joins_picture && IsPictographic(code)) return true;
  return cluster.is_odd_regional && next == kRegional;
}

}  // namespace

std::size_t FirstGrapheme(std::string_view text) {
  const CodePoint first = FirstCodePoint(text);
  std::size_t end = first.length;
  if (first.code < 0x80 && first.code != '\r' &&
      (end == text.size() || static_cast<unsigned char>(text[end]) < 0x80)) {
    return end;
  }
  const Break kind = BreakOf(first.code);
  Cluster cluster{kind, IsPictographic(first.code), false, kind == Break::kRegional};
  while (end < text.size()) {
    const CodePoint point = FirstCodePoint(text.substr(end));
    const Break next = BreakOf(point.code);
    if (!StaysTogether(cluster, next, point.code)) break;
    cluster.joins_picture = cluster.has_picture && next == Break::kZwj;
    cluster.has_picture = IsPictographic(point.code) ||
                          (cluster.has_picture && (next == Break::kExtend || next == Break::kZwj));
    cluster.is_odd_regional = next == Break::kRegional && !cluster.is_odd_regional;
    cluster.last = next;
    end += point.length;
  }
  return end;
}

}  // namespace quire
