// What SentencePiece does with a text: its normalizer, its BPE, its decoder.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decode_stages.h"
#include "tokenizer/hash_bytes.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/unigram.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

struct NormalizerFlags {
  bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, space_is_suffix;
};

class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(CharsMap map, TokenMatcher user_defined, NormalizerFlags flags)
      : map_(std::move(map)), user_defined_(std::move(user_defined)), flags_(flags) {}

  Status Apply(std::string& text) const override {
    std::string_view rest = text;
    if (flags_.remove_extra_whitespaces) {
      while (!rest.empty()) {
        const auto [value, length] = Next(rest);
        if (value != " ") break;
        rest.remove_prefix(length);
      }
    }
    std::string out;
    if (!rest.empty()) AppendNormalized(rest, out);
    text = std::move(out);
    return {};
  }

 private:
  std::string_view space() const { return flags_.escape_whitespaces ? kSpaceMark : " "; }

  // What the beginning of `text` becomes, and how long that beginning is.
  std::pair<std::string_view, std::size_t> Next(std::string_view text) const {
    const auto match = user_defined_.LongestAt(text, 0, [](int) { return true; });
    if (match.value >= 0) return {text.substr(0, match.length), match.length};
    if (const auto mapped = map_.FindLongest(text)) return {mapped->value, mapped->length};
    const auto length = static_cast<std::size_t>(FirstCodePoint(text).length);
    return {text.substr(0, length), length};
  }

  void AppendNormalized(std::string_view rest, std::string& out) const {
    const bool adds_space = flags_.add_dummy_prefix;
    if (adds_space && !flags_.space_is_suffix) out += space();
    bool was_space = flags_.remove_extra_whitespaces;
    while (!rest.empty()) {
      auto [value, length] = Next(rest);
      rest.remove_prefix(length);
      while (was_space && value.starts_with(' ')) value.remove_prefix(1);
      if (!value.empty()) {
        for (const char c : value) {
          if (c == ' ') {
            out += space();
          } else {
            out += c;
          }
        }
        was_space = value.ends_with(' ');
      }
      if (!flags_.remove_extra_whitespaces) was_space = false;
    }
    while (flags_.remove_extra_whitespaces && std::string_view(out).ends_with(space())) {
      out.resize(out.size() - space().size());
    }
    if (adds_space && flags_.space_is_suffix) out += space();
  }

  CharsMap map_;
  TokenMatcher user_defined_;
  NormalizerFlags flags_;
};

// Merges by score, but for user-defined pieces, which stay whole; unused pieces are taken apart
// again the way they were put together.
class SentencePieceBpe final : public TokenModel {
 public:
  struct Options {
    TokenId unk_id = kNoToken;
    bool byte_fallback = false;
  };

  SentencePieceBpe(const Vocabulary& vocabulary, const SentencePieceModel& model, Options options)
      : vocabulary_(vocabulary),
        options_(options),
        rules_(vocabulary, RanksOf(model)),
        is_unused_(model.pieces.size()) {
    cuts_before_space_ = true;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
      const SentencePieceModel::Entry& piece = model.pieces[id];
      is_unused_[id] = piece.type == PieceType::kUnused;
      has_unused_ |= is_unused_[id];
      if (piece.type == PieceType::kUserDefined) {
        user_defined_.Add(piece.text, static_cast<int>(id));
      }
      if (IsText(piece.type) && HasInnerSpace(piece.text)) cuts_before_space_ = false;
    }
    for (int byte = 0; byte < 256; ++byte) {
      constexpr char kHex[] = "0123456789ABCDEF";
      byte_ids_[byte] = vocabulary.Find(StrCat("<0x", kHex[byte >> 4], kHex[byte & 15], ">"));
    }
  }

  Status Encode(std::string_view text, ModelScratch& scratch,
                std::vector<TokenId>& out) const override {
    if (!cuts_before_space_ || !user_defined_.empty()) return EncodePart(text, scratch, out);
    // No piece spans the place before a space mark that follows something else.
    std::size_t begin = 0;
    bool was_space = true;
    for (std::size_t at = 0; at < text.size();) {
      const bool is_space = text.substr(at).starts_with(kSpaceMark);
      if (is_space && !was_space) {
        QUIRE_RETURN_IF_ERROR(EncodePart(text.substr(begin, at - begin), scratch, out));
        begin = at;
      }
      was_space = is_space;
      at += static_cast<std::size_t>(FirstCodePoint(text.substr(at)).length);
    }
    return EncodePart(text.substr(begin), scratch, out);
  }

 private:
  static bool IsText(PieceType type) {
    return type == PieceType::kNormal || type == PieceType::kUserDefined ||
           type == PieceType::kUnused;
  }

  // Whether something other than a space mark stands before one.
  static bool HasInnerSpace(std::string_view text) {
    bool was_space = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text.substr(at).starts_with(kSpaceMark)) {
        if (!was_space) return true;
        at += kSpaceMark.size() - 1;
      } else {
        was_space = false;
      }
    }
    return false;
  }

  // Ranks by descending score, equal for equal scores.
  static std::vector<std::uint32_t> RanksOf(const SentencePieceModel& model) {
    std::vector<TokenId> ids;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
      if (IsText(model.pieces[id].type)) ids.push_back(static_cast<TokenId>(id));
    }
    const auto score = [&](TokenId id) { return model.pieces[id].score; };
    std::sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) { return score(a) > score(b); });
    std::vector<std::uint32_t> ranks(model.pieces.size(), MergeRule::kNone);
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i > 0 && score(ids[i]) != score(ids[i - 1])) ++rank;
      ranks[ids[i]] = rank;
    }
    return ranks;
  }

  Status EncodePart(std::string_view text, ModelScratch& scratch, std::vector<TokenId>& out) const {
    if (text.empty()) return {};
    if (text.size() > WordCache::kMaxWordBytes) return EncodeWord(text, scratch, out);
    const std::uint64_t hash = HashBytes(text);
    if (const auto known = scratch.cache.Find(text, hash)) {
      out.insert(out.end(), known->begin(), known->end());
      return {};
    }
    const std::size_t before = out.size();
    QUIRE_RETURN_IF_ERROR(EncodeWord(text, scratch, out));
    scratch.cache.Put(text, hash, std::span(out).subspan(before));
    return {};
  }

  Status EncodeWord(std::string_view text, ModelScratch& scratch, std::vector<TokenId>& out) const {
    bool was_unknown = false;
    std::vector<Symbol>& symbols = scratch.merger.symbols;
    symbols.clear();
    for (std::size_t at = 0; at < text.size();) {
      const auto match = user_defined_.LongestAt(text, at, [](int) { return true; });
      if (match.value >= 0) {  // frozen: what stands before it is merged by itself
        QUIRE_RETURN_IF_ERROR(Flush(text, scratch, was_unknown, out));
        out.push_back(match.value);
        was_unknown = false;
        at += match.length;
        continue;
      }
      const auto length = static_cast<std::uint32_t>(FirstCodePoint(text.substr(at)).length);
      symbols.push_back(
          {vocabulary_.Find(text.substr(at, length)), static_cast<std::uint32_t>(at), length});
      at += length;
    }
    return Flush(text, scratch, was_unknown, out);
  }

  Status Flush(std::string_view text, ModelScratch& scratch, bool& was_unknown,
               std::vector<TokenId>& out) const {
    std::vector<Symbol>& symbols = scratch.merger.symbols;
    MergeTree tree;
    if (has_unused_) {
      scratch.merger.Merge(symbols, text.data(), RecordingRules{*this, tree});
    } else {
      scratch.merger.Merge(symbols, text.data(), rules_);
    }
    for (const Symbol& symbol : symbols) {
      QUIRE_RETURN_IF_ERROR(Emit(text.substr(symbol.start, symbol.length), tree, was_unknown, out));
    }
    symbols.clear();
    return {};
  }

  // Of each unused piece that a merge could make: where it was joined.
  using MergeTree = std::unordered_map<std::string, std::size_t>;

  struct RecordingRules {
    const SentencePieceBpe& model;
    MergeTree& tree;
    MergeRule Find(const Symbol& left, const Symbol& right, const char* word) const {
      const MergeRule rule = model.rules_.Find(left, right, word);
      if (rule.rank != MergeRule::kNone && model.is_unused_[rule.id]) {
        tree[std::string(word + left.start, left.length + right.length)] = left.length;
      }
      return rule;
    }
  };

  // Appends the ids of a merged piece; an unused one gives those of its parts.
  Status Emit(std::string_view piece, const MergeTree& tree, bool& was_unknown,
              std::vector<TokenId>& out) const {
    TokenId id = vocabulary_.Find(piece);
    if (id != kNoToken && is_unused_[id]) {
      const auto joined = tree.find(std::string(piece));
      if (joined != tree.end()) {
        QUIRE_RETURN_IF_ERROR(Emit(piece.substr(0, joined->second), tree, was_unknown, out));
        return Emit(piece.substr(joined->second), tree, was_unknown, out);
      }
    }
    if (id != kNoToken && id != options_.unk_id) {
      out.push_back(id);
      was_unknown = false;
      return {};
    }
    if (options_.byte_fallback) return EmitBytes(piece, out);
    if (options_.unk_id == kNoToken) return InvalidArgument("the vocabulary has no unknown piece");
    if (!was_unknown) out.push_back(options_.unk_id);
    was_unknown = true;
    return {};
  }

  Status EmitBytes(std::string_view piece, std::vector<TokenId>& out) const {
    for (const char c : piece) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
      if (id != kNoToken) {
        out.push_back(id);
      } else if (options_.unk_id != kNoToken) {
        out.push_back(options_.unk_id);
      } else {
        return InvalidArgument("the vocabulary has no unknown piece");
      }
    }
    return {};
  }

  const Vocabulary& vocabulary_;
  Options options_;
  PieceRules rules_;
  TokenMatcher user_defined_;
  std::vector<bool> is_unused_;
  bool has_unused_ = false;
  bool cuts_before_space_ = false;
  std::array<TokenId, 256> byte_ids_;
};

// Space marks become blanks, the first one nothing; runs of bytes become characters.
class SentencePieceStage final : public WholeTokenStage {
 public:
  struct Rules {
    std::string unk_piece, unk_surface;
    bool drops_first_space, drops_all_first_spaces, has_bytes;
  };

  SentencePieceStage(DecodeStage& next, const Rules& rules)
      : WholeTokenStage(next), rules_(rules) {}

  bool HoldsBytes() const override { return !bytes_.empty(); }

 protected:
  void PushToken(std::string_view token) override {
    const int byte = rules_.has_bytes ? ByteOfToken(token) : -1;
    if (byte >= 0) {
      bytes_ += static_cast<char>(byte);
      EmitCharacters(false);
      return;
    }
    EmitCharacters(true);
    if (saw_first_space_ || has_text_) is_start_ = false;
    saw_first_space_ = false;
    if (token == rules_.unk_piece) {
      Emit(rules_.unk_surface);
      return;
    }
    if (is_start_ && rules_.drops_first_space && token.starts_with(kSpaceMark)) {
      token.remove_prefix(kSpaceMark.size());
      saw_first_space_ = !rules_.drops_all_first_spaces;
    }
    std::string text;
    while (!token.empty()) {
      const std::size_t at = std::min(token.find(kSpaceMark), token.size());
      text += token.substr(0, at);
      token.remove_prefix(at);
      if (token.empty()) break;
      text += ' ';
      token.remove_prefix(kSpaceMark.size());
    }
    Emit(text);
  }

  void FinishTokens() override {
    EmitCharacters(true);
    is_start_ = true;
    saw_first_space_ = false;
    has_text_ = false;
  }

 private:
  void Emit(std::string_view text) {
    has_text_ |= !text.empty();
    next_.Push({text});
  }

  // Gives out the characters of the run so far; each byte that begins none is a U+FFFD.
  void EmitCharacters(bool is_end) {
    std::size_t at = 0;
    std::string text;
    while (at < bytes_.size()) {
      const Utf8Step step = ReadUtf8(std::string_view(bytes_).substr(at));
      if (step.kind == Utf8Step::Kind::kIncomplete && !is_end) break;
      const bool is_valid = step.kind == Utf8Step::Kind::kValid;
      text += is_valid ? std::string_view(bytes_).substr(at, step.length) : kReplacementCharacter;
      at += is_valid ? step.length : 1;
    }
    bytes_.erase(0, at);
    if (!text.empty()) Emit(text);
  }

  const Rules& rules_;
  std::string bytes_;
  bool is_start_ = true;
  bool saw_first_space_ = false;
  bool has_text_ = false;
};

class SentencePieceDecoder final : public Decoder {
 public:
  explicit SentencePieceDecoder(SentencePieceStage::Rules rules) : rules_(std::move(rules)) {}
  void MakeStages(std::vector<std::unique_ptr<DecodeStage>>& stages, bool) const override {
    AddStage<SentencePieceStage>(stages, rules_);
  }

 private:
  SentencePieceStage::Rules rules_;
};

// The pieces in the vocabulary; control pieces as special tokens.
Status AddPieces(const SentencePieceModel& model, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  std::size_t num_bytes = 0;
  for (const auto& piece : model.pieces) num_bytes += piece.text.size();
  pipeline.vocabulary.Reserve(model.pieces.size(), num_bytes);
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    const auto id = static_cast<TokenId>(i);
    if (const std::size_t later = i + Vocabulary::kPrefetchDistance; later < model.pieces.size()) {
      pipeline.vocabulary.Prefetch(model.pieces[later].text);
    }
    if (piece.text.empty()) continue;
    if (!IsValidUtf8(piece.text)) {
      return DataLoss(StrCat("pieces: number ", i, " is not valid UTF-8"));
    }
    QUIRE_RETURN_IF_ERROR(pipeline.vocabulary.Add(piece.text, id));
    if (piece.type != PieceType::kControl) continue;
    QUIRE_RETURN_IF_ERROR(builder.AddToken({.id = id,
                                            .content = std::string(piece.text),
                                            .is_special = true,
                                            .is_normalized = false}));
  }
  return {};
}

Status MakeModel(const SentencePieceModel& model, TokenId unk_id, Pipeline& pipeline) {
  using Algorithm = SentencePieceModel::Algorithm;
  if (model.algorithm == Algorithm::kBpe) {
    pipeline.model = std::make_unique<SentencePieceBpe>(
        pipeline.vocabulary, model, SentencePieceBpe::Options{unk_id, model.byte_fallback});
    return {};
  }
  if (model.algorithm != Algorithm::kUnigram) {
    return Unimplemented("trainer_spec.model_type: word and char models are not supported");
  }
  std::vector<double> scores(model.pieces.size());
  std::vector<TokenId> ids;
  float highest = -1e30f;
  for (const auto& piece : model.pieces) {
    if (piece.type == PieceType::kNormal) highest = std::max(highest, piece.score);
  }
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    scores[i] = piece.score;
    // A user-defined piece always wins over its parts.
    if (piece.type == PieceType::kUserDefined) {
      scores[i] = static_cast<float>(piece.text.size()) * highest - 0.1f;
    }
    if (piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined) {
      ids.push_back(static_cast<TokenId>(i));
    }
  }
  pipeline.model =
      std::make_unique<UnigramModel>(pipeline.vocabulary, std::move(scores), ids,
                                     UnigramOptions{unk_id, model.byte_fallback, true, false});
  return {};
}

}  // namespace

Status BuildSentencePiece(const SentencePieceModel& model, TokenizerBuilder& builder) {
  if (model.has_denormalizer) return Unimplemented("denormalizer_spec is not supported");
  Pipeline& pipeline = builder.pipeline();
  QUIRE_RETURN_IF_ERROR(AddPieces(model, builder));
  TokenId unk_id = kNoToken;
  TokenMatcher user_defined;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    if (piece.type == PieceType::kUnknown && unk_id == kNoToken) unk_id = static_cast<TokenId>(i);
    if (piece.type == PieceType::kUserDefined) user_defined.Add(piece.text, static_cast<int>(i));
  }
  QUIRE_ASSIGN_OR_RETURN(CharsMap map, CharsMap::Parse(model.charsmap));
  pipeline.normalizer = std::make_unique<SentencePieceNormalizer>(
      std::move(map), std::move(user_defined),
      NormalizerFlags{model.add_dummy_prefix, model.remove_extra_whitespaces,
                      model.escape_whitespaces, model.treat_whitespace_as_suffix});
  QUIRE_RETURN_IF_ERROR(MakeModel(model, unk_id, pipeline));
  pipeline.decoder.steps.push_back(std::make_unique<SentencePieceDecoder>(SentencePieceStage::Rules{
      std::string(pipeline.vocabulary.Text(unk_id)), std::string(model.unk_surface),
      model.add_dummy_prefix || model.remove_extra_whitespaces, model.remove_extra_whitespaces,
      model.byte_fallback}));
  pipeline.decoder.traits.has_byte_fallback = model.byte_fallback;
  builder.description().model =
      model.algorithm == SentencePieceModel::Algorithm::kBpe ? "BPE" : "Unigram";
  if (unk_id != kNoToken) builder.SetUnk(unk_id);
  builder.SetBos(model.bos_id);
  builder.SetEos(model.eos_id);
  builder.SetPad(model.pad_id);
  return {};
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromSentencePiece(
    std::string_view bytes, const HfTokenizerFiles& beside) {
  TokenizerBuilder builder;
  builder.description().source = "tokenizer.model";
  Result<SentencePieceModel> model = ParseSentencePiece(bytes);
  if (!model.ok()) return model.status().With("tokenizer.model");
  Status status = BuildSentencePiece(*model, builder);
  if (!status.ok()) return status.With("tokenizer.model");
  // Llama's classes put BOS in front unless the config says otherwise.
  PostProcessor& post = builder.pipeline().post;
  post.steps.push_back(MakeBosEosTemplate(builder.bos_id(), std::nullopt));
  post.Summarize();
  QUIRE_RETURN_IF_ERROR(ApplyHfConfigs(beside, builder));
  return builder.Build();
}

}  // namespace quire
