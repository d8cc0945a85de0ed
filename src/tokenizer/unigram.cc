#include "tokenizer/unigram.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "tokenizer/hash_bytes.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr double kUnknownPenalty = 10.0;

// The best way to cut the text that ends at some byte.
template <typename Score>
struct Best {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  Score score = 0;
  std::uint32_t start = kNone;  // where its last piece begins
  TokenId id = kNoToken;
};

}  // namespace

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores,
                           const std::vector<TokenId>& ids, UnigramOptions options)
    : vocabulary_(vocabulary),
      scores_(std::move(scores)),
      options_(options),
      trie_(vocabulary, ids) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const TokenId id : ids) lowest = std::min(lowest, scores_[id]);
  unk_score_ = lowest - kUnknownPenalty;
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary.Find(StrCat("<0x", kHex[byte >> 4], kHex[byte & 15], ">"));
  }
}

Status UnigramModel::Encode(std::string_view piece, ModelScratch& scratch,
                            std::vector<TokenId>& out) const {
  if (piece.empty()) return {};
  const bool is_cached = piece.size() <= WordCache::kMaxWordBytes;
  const std::uint64_t hash = is_cached ? HashBytes(piece) : 0;
  if (is_cached) {
    if (const auto known = scratch.cache.Find(piece, hash)) {
      out.insert(out.end(), known->begin(), known->end());
      return {};
    }
  }
  const std::size_t before = out.size();
  QUIRE_RETURN_IF_ERROR(options_.sums_in_float ? EncodeAs<float>(piece, out)
                                               : EncodeAs<double>(piece, out));
  if (is_cached) scratch.cache.Put(piece, hash, std::span(out).subspan(before));
  return {};
}

template <typename Score>
Status UnigramModel::EncodeAs(std::string_view text, std::vector<TokenId>& out) const {
  std::vector<Best<Score>> best(text.size() + 1);
  const auto consider = [&](std::size_t start, std::size_t end, Score score, TokenId id) {
    Best<Score>& node = best[end];
    const Score sum = score + best[start].score;
    if (node.start != Best<Score>::kNone && !(sum > node.score)) return;
    node = {sum, static_cast<std::uint32_t>(start), id};
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<std::size_t>(FirstCodePoint(text.substr(at)).length);
    bool has_single = false;
    trie_.VisitPrefixes(text.substr(at), [&](TokenId id, std::size_t size) {
      has_single |= size == length;
      consider(at, at + size, static_cast<Score>(scores_[id]), id);
    });
    if (!has_single) consider(at, at + length, static_cast<Score>(unk_score_), kNoToken);
    at += length;
  }
  // From the end to the start; runs of unknown characters are one.
  std::vector<std::pair<std::size_t, TokenId>> path;  // start and id of each piece
  for (std::size_t end = text.size(); end > 0;) {
    const Best<Score>& node = best[end];
    const bool is_unknown = node.id == kNoToken || node.id == options_.unk_id;
    const TokenId id = is_unknown ? kNoToken : node.id;
    if (is_unknown && !path.empty() && path.back().second == kNoToken) {
      path.back().first = node.start;
    } else {
      path.emplace_back(node.start, id);
    }
    end = node.start;
  }
  for (std::size_t i = path.size(); i-- > 0;) {
    const std::size_t end = i == 0 ? text.size() : path[i - 1].first;
    if (path[i].second != kNoToken) {
      out.push_back(path[i].second);
    } else {
      QUIRE_RETURN_IF_ERROR(AppendUnknown(text.substr(path[i].first, end - path[i].first), out));
    }
  }
  return {};
}

Status UnigramModel::AppendUnknown(std::string_view text, std::vector<TokenId>& out) const {
  if (options_.looks_up_fused) {
    if (const TokenId id = vocabulary_.Find(text); id != kNoToken) {
      out.push_back(id);
      return {};
    }
  }
  const bool has_bytes =
      options_.byte_fallback && std::all_of(text.begin(), text.end(), [&](char c) {
        return byte_ids_[static_cast<unsigned char>(c)] != kNoToken;
      });
  if (has_bytes) {
    for (const char c : text) out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    return {};
  }
  if (options_.unk_id == kNoToken) {
    return InvalidArgument("model.unk_id: there is none, and the text needs it");
  }
  out.push_back(options_.unk_id);
  return {};
}

}  // namespace quire
