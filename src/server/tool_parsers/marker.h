// Finds markers in text that comes in pieces.
#pragma once

#include <string>
#include <string_view>

namespace quire {

enum class MarkerMatch { kNone, kPrefix, kWhole };

// How `text` stands to `marker`: its beginning, all of it, or neither. An empty marker is never
// met.
inline MarkerMatch MatchMarker(std::string_view marker, std::string_view text) {
  if (marker.empty() || !marker.starts_with(text)) return MarkerMatch::kNone;
  return marker.size() == text.size() ? MarkerMatch::kWhole : MarkerMatch::kPrefix;
}

}  // namespace quire
