// Finds stop strings in a text that comes in pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace quire {

// Looks for the first place where any of a set of strings ends, wherever the pieces are cut, and
// gives text out as soon as it can no longer be part of one.
//
// Where several stop strings end at the same place, the longest counts; so the result does not
// depend on how the text is cut. One thread at a time. O(1) a byte (Aho and Corasick's automaton).
class StopStrings {
 public:
  // `keep_stop`: the found string belongs to the text (include_stop_str_in_output). Empty strings
  // are passed over. kInvalidArgument for more than 64 KiB of stop strings in all.
  static Result<StopStrings> Create(const std::vector<std::string>& stops, bool keep_stop = false);

  // The text that `delta` makes certain. Once a stop string was found the text ends before it (or
  // after it, with keep_stop), and all later deltas give "".
  std::string Append(std::string_view delta);

  // What was held back; for a text that ended without a stop string.
  std::string Finish();

  // The stop string that was found.
  std::optional<std::string_view> matched() const;

  std::size_t num_held() const { return held_.size(); }  // bytes held back

 private:
  struct Node {
    std::vector<std::pair<unsigned char, int>> next;
    int fail = 0;
    int depth = 0;      // bytes of the longest stop prefix that the text ends with
    int stop_idx = -1;  // longest stop string that ends here
  };

  StopStrings() = default;
  void Insert(int stop_idx);
  void LinkFailures();
  int Step(int node, unsigned char byte) const;
  std::size_t HeldBoundary() const;

  std::vector<std::string> stops_;
  std::vector<Node> nodes_;
  bool keep_stop_ = false;
  int node_ = 0;
  int matched_idx_ = -1;
  std::string held_;
};

}  // namespace quire
