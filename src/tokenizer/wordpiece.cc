#include "tokenizer/wordpiece.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

Status NoUnknown(std::string_view token) {
  return InvalidArgument(StrCat("model.unk_token: \"", Printable(token),
                                "\" is not in the vocabulary, and the text needs it"));
}

}  // namespace

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, WordPieceOptions options)
    : vocabulary_(vocabulary),
      options_(std::move(options)),
      unk_id_(vocabulary.Find(options_.unk_token)) {}

TokenId WordPieceModel::LongestPiece(std::string_view word, std::size_t start, std::string& text,
                                     std::size_t& end) const {
  text = start > 0 ? options_.continuing_subword_prefix : "";
  const std::size_t prefix = text.size();
  const std::size_t longest = static_cast<std::size_t>(vocabulary_.longest_bytes());
  text += word.substr(start, longest);
  while (text.size() > prefix) {
    // A cut in the middle of a character is never a piece.
    const std::size_t at = start + text.size() - prefix;
    const bool is_edge = at == word.size() || (static_cast<unsigned char>(word[at]) & 0xC0) != 0x80;
    const TokenId id = is_edge ? vocabulary_.Find(text) : kNoToken;
    if (id != kNoToken) {
      end = at;
      return id;
    }
    text.pop_back();
  }
  return kNoToken;
}

Status WordPieceModel::Encode(std::string_view piece, ModelScratch& scratch,
                              std::vector<TokenId>& out) const {
  if (piece.empty()) return {};
  const auto max_chars = static_cast<std::size_t>(options_.max_input_chars_per_word);
  const std::size_t before = out.size();
  bool is_known = piece.size() <= max_chars || CountCodePoints(piece) <= max_chars;
  for (std::size_t at = 0; is_known && at < piece.size();) {
    std::size_t end = at;
    const TokenId id = LongestPiece(piece, at, scratch.text, end);
    is_known = id != kNoToken;
    if (is_known) out.push_back(id);
    at = end;
  }
  if (is_known) return {};
  out.resize(before);
  if (unk_id_ == kNoToken) return NoUnknown(options_.unk_token);
  out.push_back(unk_id_);
  return {};
}

WordLevelModel::WordLevelModel(const Vocabulary& vocabulary, std::string unk_token)
    : vocabulary_(vocabulary),
      unk_token_(std::move(unk_token)),
      unk_id_(vocabulary.Find(unk_token_)) {}

Status WordLevelModel::Encode(std::string_view piece, ModelScratch&,
                              std::vector<TokenId>& out) const {
  TokenId id = vocabulary_.Find(piece);
  if (id == kNoToken) id = unk_id_;
  if (id == kNoToken) return NoUnknown(unk_token_);
  out.push_back(id);
  return {};
}

}  // namespace quire
