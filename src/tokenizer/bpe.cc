#include "tokenizer/bpe.h"

#include <algorithm>

#include "base/strings.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/hash_bytes.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

std::uint64_t KeyOf(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

PairRules::PairRules(std::size_t num_merges) {
  std::size_t size = 16;
  while (size < num_merges * 3 / 2) size *= 2;
  slots_.resize(size);
}

std::size_t PairRules::HomeOf(std::uint64_t key) const {
  return MixBits(key, 0x9E3779B97F4A7C15) & (slots_.size() - 1);
}

void PairRules::Prefetch(TokenId left, TokenId right) const {
  __builtin_prefetch(&slots_[HomeOf(KeyOf(left, right))]);
}

std::size_t PairRules::SlotOf(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = HomeOf(key);
  while (slots_[slot].key != key && slots_[slot].key != kEmpty) slot = (slot + 1) & mask;
  return slot;
}

void PairRules::Add(TokenId left, TokenId right, MergeRule rule) {
  if ((num_used_ + 1) * 4 > slots_.size() * 3) Grow();
  const std::uint64_t key = KeyOf(left, right);
  Slot& slot = slots_[SlotOf(key)];
  if (slot.key == kEmpty) ++num_used_;
  slot = {key, rule};
}

void PairRules::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) slots_[SlotOf(slot.key)] = slot;
  }
}

MergeRule PairRules::Find(const Symbol& left, const Symbol& right, const char*) const {
  const Slot& slot = slots_[SlotOf(KeyOf(left.id, right.id))];
  return slot.key == kEmpty ? MergeRule() : slot.rule;
}

MergeRule PieceRules::Find(const Symbol& left, const Symbol& right, const char* word) const {
  const TokenId id =
      vocabulary_.Find(std::string_view(word + left.start, left.length + right.length));
  return id == kNoToken || ranks_[id] == MergeRule::kNone ? MergeRule() : MergeRule{ranks_[id], id};
}

BpeModel::BpeModel(const Vocabulary& vocabulary, std::unique_ptr<const PairRules> rules,
                   BpeOptions options)
    : vocabulary_(vocabulary), pairs_(std::move(rules)), options_(std::move(options)) {
  FindBaseTokens();
}

BpeModel::BpeModel(const Vocabulary& vocabulary, std::unique_ptr<const PieceRules> rules,
                   BpeOptions options)
    : vocabulary_(vocabulary), pieces_(std::move(rules)), options_(std::move(options)) {
  FindBaseTokens();
}

void BpeModel::FindBaseTokens() {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    std::string piece;
    if (options_.is_byte_level) {
      AppendUtf8(piece, kCharOfByte[byte]);
    } else {
      piece = StrCat("<0x", kHex[byte >> 4], kHex[byte & 15], ">");
    }
    byte_ids_[byte] = vocabulary_.Find(piece);
  }
  has_all_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), kNoToken) == byte_ids_.end();
  if (options_.unk_token) unk_id_ = vocabulary_.Find(*options_.unk_token);
}

Status BpeModel::Encode(std::string_view piece, ModelScratch& scratch,
                        std::vector<TokenId>& out) const {
  if (piece.empty()) return {};
  if (piece.size() > WordCache::kMaxWordBytes) return EncodeWord(piece, scratch, out);
  const std::uint64_t hash = HashBytes(piece);
  if (const auto known = scratch.cache.Find(piece, hash)) {
    out.insert(out.end(), known->begin(), known->end());
    return {};
  }
  const std::size_t before = out.size();
  QUIRE_RETURN_IF_ERROR(EncodeWord(piece, scratch, out));
  scratch.cache.Put(piece, hash, std::span(out).subspan(before));
  return {};
}

// Where no character is dropped or fused with others each id stands for a piece's bytes at most.
std::size_t BpeModel::MinIds(std::size_t num_bytes) const {
  const bool covers_all = has_all_bytes_ && (options_.is_byte_level || options_.byte_fallback);
  if (!covers_all) return 0;
  return num_bytes / static_cast<std::size_t>(std::max(1, vocabulary_.longest_bytes()));
}

Status BpeModel::EncodeWord(std::string_view word, ModelScratch& scratch,
                            std::vector<TokenId>& out) const {
  // Only a look-up by text needs the stand-ins; ids of bytes are merged as they are.
  const bool spells = options_.is_byte_level && (options_.ignore_merges || pieces_ != nullptr);
  std::string_view text = word;
  if (spells) {
    scratch.text.clear();
    AppendByteChars(scratch.text, word);
    text = scratch.text;
  }
  if (options_.ignore_merges) {
    if (const TokenId id = vocabulary_.Find(text); id != kNoToken) {
      out.push_back(id);
      return {};
    }
  }
  std::vector<Symbol>& symbols = scratch.merger.symbols;
  symbols.clear();
  if (options_.is_byte_level && has_all_bytes_ && pieces_ == nullptr) {
    SplitBytes(word, symbols);
  } else {
    if (options_.is_byte_level && !spells) {
      scratch.text.clear();
      AppendByteChars(scratch.text, word);
      text = scratch.text;
    }
    QUIRE_RETURN_IF_ERROR(Split(text, symbols));
  }
  if (pairs_ != nullptr) {
    scratch.merger.Merge(symbols, text.data(), *pairs_);
  } else {
    scratch.merger.Merge(symbols, text.data(), *pieces_);
  }
  for (const Symbol& symbol : symbols) out.push_back(symbol.id);
  return {};
}

void BpeModel::SplitBytes(std::string_view word, std::vector<Symbol>& symbols) const {
  symbols.resize(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    symbols[i] = {byte_ids_[static_cast<unsigned char>(word[i])], static_cast<std::uint32_t>(i), 1};
  }
}

// How the vocabulary spells a character of a word; in `buffer` where it is not the character alone.
std::string_view BpeModel::Spell(std::string_view character, bool is_first, bool is_last,
                                 std::string& buffer) const {
  const bool has_prefix = !is_first && !options_.continuing_subword_prefix.empty();
  const bool has_suffix = is_last && !options_.end_of_word_suffix.empty();
  if (!has_prefix && !has_suffix) return character;
  buffer = StrCat(has_prefix ? options_.continuing_subword_prefix : "", character,
                  has_suffix ? options_.end_of_word_suffix : "");
  return buffer;
}

// Appends the byte tokens of `text`; false, with nothing appended, where one is missing.
bool BpeModel::PushBytes(std::string_view text, std::uint32_t start,
                         std::vector<Symbol>& symbols) const {
  for (const char c : text) {
    if (byte_ids_[static_cast<unsigned char>(c)] == kNoToken) return false;
  }
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    symbols.push_back({byte_ids_[static_cast<unsigned char>(text[i])], start + i, 1});
  }
  return true;
}

// An unknown character waits, to be fused with those after it; byte tokens that come in between go
// before it, as in the original.
Status BpeModel::Split(std::string_view word, std::vector<Symbol>& symbols) const {
  bool has_unk = false;
  std::string buffer;
  for (std::size_t at = 0; at < word.size();) {
    const int length = FirstCodePoint(word.substr(at)).length;
    const std::string_view character = word.substr(at, length);
    const auto start = static_cast<std::uint32_t>(at);
    const bool is_last = at + length == word.size();
    const std::string_view spelled = Spell(character, at == 0, is_last, buffer);
    const TokenId id = vocabulary_.Find(spelled);
    at += length;
    if (id != kNoToken) {
      if (has_unk) symbols.push_back({unk_id_, start, 0});
      has_unk = false;
      symbols.push_back({id, start, static_cast<std::uint32_t>(length)});
      continue;
    }
    // As in the original, the bytes are those of the prefix and the suffix too.
    if (options_.byte_fallback && PushBytes(spelled, start, symbols)) continue;
    if (!options_.unk_token) continue;
    if (unk_id_ == kNoToken) {
      return InvalidArgument(StrCat("model.unk_token: \"", Printable(*options_.unk_token),
                                    "\" is not in the vocabulary, and the text needs it"));
    }
    if (has_unk && !options_.fuse_unk) symbols.push_back({unk_id_, start, 0});
    has_unk = true;
  }
  if (has_unk) symbols.push_back({unk_id_, static_cast<std::uint32_t>(word.size()), 0});
  return {};
}

}  // namespace quire
