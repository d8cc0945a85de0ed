#include "tokenizer/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

namespace quire {

namespace {

constexpr std::size_t kMaxPooled = 16;                         // calls whose memory is kept
constexpr std::size_t kMaxPooledBytes = std::size_t{4} << 20;  // of text; more is given back

}  // namespace

Status Pipeline::Encode(std::string_view text, bool parse_special, bool is_start,
                        EncodeScratch& scratch, std::vector<TokenId>& out) const {
  constexpr std::size_t kCheckpointBytes = 256;  // at least so far apart
  std::vector<AddedSplit>& splits = scratch.plain_splits;
  std::vector<ResumePoint>& checkpoints = scratch.checkpoints;
  checkpoints.clear();
  added.Split(text, false, parse_special, splits);
  for (const AddedSplit& split : splits) {
    if (out.size() > scratch.max_ids) return {};
    if (split.token_idx >= 0) {
      const AddedToken& token = added.tokens()[split.token_idx];
      out.push_back(token.id);
      const std::size_t last = checkpoints.empty() ? 0 : checkpoints.back().offset;
      if (!token.strips_right && split.end >= last + kCheckpointBytes) {
        checkpoints.push_back({split.end, out.size()});
      }
      continue;
    }
    QUIRE_RETURN_IF_ERROR(EncodeSegment(text.substr(split.begin, split.end - split.begin),
                                        parse_special, is_start && split.begin == 0, scratch, out));
  }
  return {};
}

// A text between the added tokens that are looked for before normalization.
Status Pipeline::EncodeSegment(std::string_view text, bool parse_special, bool is_start,
                               EncodeScratch& scratch, std::vector<TokenId>& out) const {
  std::string normalized(text);
  if (normalizer != nullptr) QUIRE_RETURN_IF_ERROR(normalizer->Apply(normalized));
  if (!added.has_normalized()) {
    scratch.pieces.Reset(std::move(normalized), is_start);
    return EncodePieces(scratch, out);
  }
  std::vector<AddedSplit>& splits = scratch.normalized_splits;
  added.Split(normalized, true, parse_special, splits);
  for (const AddedSplit& split : splits) {
    if (out.size() > scratch.max_ids) return {};
    if (split.token_idx >= 0) {
      out.push_back(added.tokens()[split.token_idx].id);
      continue;
    }
    scratch.pieces.Reset(normalized.substr(split.begin, split.end - split.begin),
                         is_start && split.begin == 0);
    QUIRE_RETURN_IF_ERROR(EncodePieces(scratch, out));
  }
  return {};
}

Status Pipeline::EncodePieces(EncodeScratch& scratch, std::vector<TokenId>& out) const {
  Pieces& pieces = scratch.pieces;
  if (pre_tokenizer != nullptr) {
    QUIRE_RETURN_IF_ERROR(model_takes_bytes ? pre_tokenizer->ApplyAsBytes(pieces)
                                            : pre_tokenizer->Apply(pieces));
  }
  for (const Piece& piece : pieces.list) {
    if (out.size() > scratch.max_ids) return {};
    const std::size_t room = scratch.max_ids - out.size();
    const std::size_t num_bytes = pieces.View(piece).size();
    if (num_bytes > room && model->MinIds(num_bytes) > room) {
      out.resize(scratch.max_ids + 1);
      return {};
    }
    QUIRE_RETURN_IF_ERROR(model->Encode(pieces.View(piece), scratch.model, out));
  }
  return {};
}

bool Pipeline::CanCutAtTokens() const {
  return !added.plain_matcher().empty() &&
         std::none_of(added.tokens().begin(), added.tokens().end(), [](const AddedToken& token) {
           return token.is_single_word && !token.is_normalized;
         });
}

int Pipeline::id_end() const {
  int end = vocabulary.id_end();
  for (const AddedToken& token : added.tokens()) end = std::max(end, token.id + 1);
  return end;
}

bool Pipeline::HasToken(TokenId id) const {
  return vocabulary.Has(id) || added.FindById(id) != nullptr;
}

std::string_view Pipeline::TokenText(TokenId id) const {
  const AddedToken* token = added.FindById(id);
  return token != nullptr ? std::string_view(token->content) : vocabulary.Text(id);
}

std::string_view Pipeline::ShownText(TokenId id) const {
  const AddedToken* token = added.FindById(id);
  return token != nullptr ? added.ShownText(*token) : vocabulary.Text(id);
}

TokenId Pipeline::Find(std::string_view piece) const {
  const AddedToken* token = added.FindByContent(piece);
  return token != nullptr ? token->id : vocabulary.Find(piece);
}

BorrowedScratch::BorrowedScratch(TokenizerMemory& memory) : memory_(memory) {
  const MutexLock lock(memory_.mutex);
  if (!memory_.free.empty()) {
    scratch_ = std::move(memory_.free.back());
    memory_.free.pop_back();
  }
  if (scratch_ == nullptr) scratch_ = std::make_unique<EncodeScratch>();
}

BorrowedScratch::~BorrowedScratch() {
  if (scratch_->pieces.text.capacity() > kMaxPooledBytes) {
    scratch_->pieces = Pieces();
    scratch_->plain_splits = {};
    scratch_->normalized_splits = {};
    scratch_->model.merger = Merger();
    scratch_->model.text = {};
    scratch_->model.ids = {};
  }
  const MutexLock lock(memory_.mutex);
  if (memory_.free.size() < kMaxPooled) memory_.free.push_back(std::move(scratch_));
}

}  // namespace quire
