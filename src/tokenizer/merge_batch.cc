#include "tokenizer/merge_batch.h"

#include <algorithm>
#include <span>

namespace quire {

bool MergeBatch::Push(std::string_view left, std::string_view right, std::uint32_t rank) {
  merges_[size_] = {left, right, rank};
  joined_[size_] = left;
  joined_[size_] += right.substr(std::min(prefix_bytes_, right.size()));
  return ++size_ < kMaxMerges;
}

std::optional<MergeBatch::Merge> MergeBatch::Flush() {
  std::array<std::string_view, kMaxMerges * kPieces> pieces;
  std::array<TokenId, kMaxMerges * kPieces> ids;
  for (std::size_t i = 0; i < size_; ++i) {
    pieces[i * kPieces] = merges_[i].left;
    pieces[i * kPieces + 1] = merges_[i].right;
    pieces[i * kPieces + 2] = joined_[i];
  }
  vocabulary_.FindAll(std::span(pieces).first(size_ * kPieces),
                      std::span(ids).first(size_ * kPieces));
  for (std::size_t i = 0; i < size_; ++i) {
    rules_.Prefetch(ids[i * kPieces], ids[i * kPieces + 1]);
  }
  std::optional<Merge> missing;
  for (std::size_t i = 0; i < size_; ++i) {
    const auto found = std::span(ids).subspan(i * kPieces, kPieces);
    if (std::find(found.begin(), found.end(), kNoToken) == found.end()) {
      rules_.Add(found[0], found[1], {merges_[i].rank, found[2]});
    } else if (!missing) {
      missing = merges_[i];
    }
  }
  size_ = 0;
  return missing;
}

}  // namespace quire
