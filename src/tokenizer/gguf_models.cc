// Tokenizers made of a GGUF vocabulary, by tokenizer.ggml.model.
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/bpe.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/merge_batch.h"
#include "tokenizer/rwkv.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/wordpiece.h"

namespace quire {

namespace {

std::optional<TokenId> If(bool wanted, std::optional<TokenId> id) {
  return wanted ? id : std::nullopt;
}

void SetIds(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  builder.SetBos(vocabulary.bos_id);
  builder.SetEos(vocabulary.eos_id);
  builder.SetUnk(vocabulary.unk_id);
  builder.SetPad(vocabulary.pad_id);
  for (const TokenId id : vocabulary.more_eos_ids) builder.AddEosId(id);
}

// "left right"; the left piece is never empty, so it may begin with a blank.
std::unique_ptr<const PairRules> ReadMerges(const GgufVocabulary& vocabulary,
                                            const Vocabulary& pieces) {
  auto rules = std::make_unique<PairRules>(vocabulary.merges.size());
  MergeBatch batch(pieces, *rules);
  std::uint32_t rank = 0;
  for (const std::string_view merge : vocabulary.merges) {
    const std::uint32_t merge_rank = rank++;
    const std::size_t blank = merge.find(' ', 1);
    if (blank == std::string_view::npos) continue;
    // Merges of pieces that the vocabulary lacks are passed over.
    if (!batch.Push(merge.substr(0, blank), merge.substr(blank + 1), merge_rank)) batch.Flush();
  }
  batch.Flush();
  return rules;
}

SentencePieceModel ToSentencePiece(const GgufVocabulary& vocabulary,
                                   SentencePieceModel::Algorithm algorithm) {
  SentencePieceModel model;
  model.algorithm = algorithm;
  model.byte_fallback = false;
  model.pieces.reserve(vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::int64_t type = vocabulary.TypeOf(id);
    SentencePieceModel::Entry piece{vocabulary.tokens[i], vocabulary.ScoreOf(id),
                                    PieceType::kNormal};
    if (type >= 1 && type <= 6) piece.type = static_cast<PieceType>(type);
    // One piece is the unknown one; converters give its type to others too.
    if (piece.type == PieceType::kUnknown && piece.text != "<unk>")
      piece.type = PieceType::kControl;
    if (piece.text == "<unk>") piece.type = PieceType::kUnknown;
    model.byte_fallback |= piece.type == PieceType::kByte;
    model.pieces.push_back(piece);
  }
  model.charsmap = vocabulary.charsmap;
  model.add_dummy_prefix = vocabulary.add_space_prefix.value_or(true);
  model.remove_extra_whitespaces = vocabulary.remove_extra_whitespaces.value_or(false);
  model.bos_id = vocabulary.bos_id;
  model.eos_id = vocabulary.eos_id;
  model.pad_id = vocabulary.pad_id;
  return model;
}

}  // namespace

Status AddGgufPieces(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  std::size_t num_bytes = 0;
  for (const std::string_view token : vocabulary.tokens) num_bytes += token.size();
  Vocabulary& pieces = builder.pipeline().vocabulary;
  pieces.Reserve(vocabulary.tokens.size(), num_bytes);
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string_view token = vocabulary.tokens[i];
    if (const std::size_t later = i + Vocabulary::kPrefetchDistance;
        later < vocabulary.tokens.size()) {
      pieces.Prefetch(vocabulary.tokens[later]);
    }
    if (token.empty()) continue;
    if (!IsValidUtf8(token)) {
      return DataLoss(StrCat("tokenizer.ggml.tokens: number ", i, " is not valid UTF-8"));
    }
    QUIRE_RETURN_IF_ERROR(pieces.Add(token, static_cast<TokenId>(i)));
  }
  return {};
}

Status AddGgufSpecials(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  builder.pipeline().added.skipped_hide_others = false;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::int64_t type = vocabulary.TypeOf(id);
    if (type != GgufVocabulary::kControl && type != GgufVocabulary::kUserDefined) continue;
    if (vocabulary.tokens[i].empty()) continue;
    QUIRE_RETURN_IF_ERROR(builder.AddToken({.id = id,
                                            .content = std::string(vocabulary.tokens[i]),
                                            .is_special = type == GgufVocabulary::kControl,
                                            .is_normalized = false}));
  }
  return {};
}

void SetGgufBosEos(const GgufVocabulary& vocabulary, bool adds_bos, bool adds_eos,
                   TokenizerBuilder& builder) {
  PostProcessor& post = builder.pipeline().post;
  post.steps.push_back(
      MakeBosEosTemplate(If(vocabulary.add_bos.value_or(adds_bos), builder.bos_id()),
                         If(vocabulary.add_eos.value_or(adds_eos), builder.eos_id())));
  post.Summarize();
}

Status BuildGgufBpe(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  QUIRE_ASSIGN_OR_RETURN(GgufPreTokenizer pre, MakeGgufPreTokenizer(vocabulary.pre));
  pipeline.pre_tokenizer = std::move(pre.pre_tokenizer);
  if (pre.has_nfc) pipeline.normalizer = MakeUnicodeNormalizer(unicode::Form::kNfc);
  QUIRE_RETURN_IF_ERROR(AddGgufPieces(vocabulary, builder));
  BpeOptions options;
  options.ignore_merges = pre.ignores_merges;
  options.is_byte_level = pipeline.pre_tokenizer->EndsInByteChars();
  pipeline.model_takes_bytes = options.is_byte_level;
  if (vocabulary.merges.empty()) {  // merges follow the order of the ids
    std::vector<std::uint32_t> ranks(vocabulary.tokens.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const bool is_piece = vocabulary.TypeOf(static_cast<TokenId>(i)) == GgufVocabulary::kNormal;
      ranks[i] = is_piece ? static_cast<std::uint32_t>(i) : MergeRule::kNone;
    }
    pipeline.model = std::make_unique<BpeModel>(
        pipeline.vocabulary, std::make_unique<PieceRules>(pipeline.vocabulary, std::move(ranks)),
        std::move(options));
  } else {
    pipeline.model = std::make_unique<BpeModel>(
        pipeline.vocabulary, ReadMerges(vocabulary, pipeline.vocabulary), std::move(options));
  }
  pipeline.decoder.steps.push_back(MakeByteLevelDecoder());
  pipeline.decoder.traits.has_byte_chars = true;
  builder.description().model = "BPE";
  builder.description().pre_tokenizer = vocabulary.pre.empty() ? "gpt2" : vocabulary.pre;
  QUIRE_RETURN_IF_ERROR(AddGgufSpecials(vocabulary, builder));
  SetIds(vocabulary, builder);
  SetGgufBosEos(vocabulary, pre.adds_bos, false, builder);
  return {};
}

Status BuildGgufSpm(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  const SentencePieceModel model = ToSentencePiece(vocabulary, SentencePieceModel::Algorithm::kBpe);
  QUIRE_RETURN_IF_ERROR(BuildSentencePiece(model, builder));
  SetIds(vocabulary, builder);
  SetGgufBosEos(vocabulary, true, false, builder);
  return {};
}

Status BuildGgufUnigram(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  const SentencePieceModel model =
      ToSentencePiece(vocabulary, SentencePieceModel::Algorithm::kUnigram);
  QUIRE_RETURN_IF_ERROR(BuildSentencePiece(model, builder));
  SetIds(vocabulary, builder);
  SetGgufBosEos(vocabulary, false, true, builder);
  return {};
}

// The file marks the beginnings of words; WordPiece marks what continues them.
Status BuildGgufWordPiece(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  constexpr std::string_view kWordMark = "\xE2\x96\x81";
  Pipeline& pipeline = builder.pipeline();
  pipeline.vocabulary.Reserve(vocabulary.tokens.size(), vocabulary.tokens.size() * 8);
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view token = vocabulary.tokens[i];
    if (token.empty()) continue;
    if (!IsValidUtf8(token)) {
      return DataLoss(StrCat("tokenizer.ggml.tokens: number ", i, " is not valid UTF-8"));
    }
    std::string piece(token);
    const bool is_bracketed = token.starts_with('[') && token.ends_with(']');
    if (vocabulary.TypeOf(id) != GgufVocabulary::kControl && !is_bracketed) {
      piece = token.starts_with(kWordMark) ? std::string(token.substr(kWordMark.size()))
                                           : StrCat("##", token);
    }
    if (!piece.empty()) QUIRE_RETURN_IF_ERROR(pipeline.vocabulary.Add(piece, id));
  }
  pipeline.normalizer = MakeBertNormalizer({});
  pipeline.pre_tokenizer = MakeBertPreTokenizer();
  WordPieceOptions options;
  if (vocabulary.unk_id && pipeline.vocabulary.Has(*vocabulary.unk_id)) {
    options.unk_token = pipeline.vocabulary.Text(*vocabulary.unk_id);
  }
  pipeline.model = std::make_unique<WordPieceModel>(pipeline.vocabulary, options);
  pipeline.decoder.steps.push_back(MakeWordPieceDecoder("##", true));
  builder.description().model = "WordPiece";
  builder.description().pre_tokenizer = vocabulary.pre;
  QUIRE_RETURN_IF_ERROR(AddGgufSpecials(vocabulary, builder));
  SetIds(vocabulary, builder);
  const auto cls = vocabulary.cls_id ? vocabulary.cls_id : vocabulary.bos_id;
  const auto sep = vocabulary.sep_id ? vocabulary.sep_id : vocabulary.eos_id;
  PostProcessor& post = pipeline.post;
  post.steps.push_back(MakeBosEosTemplate(If(vocabulary.add_bos.value_or(true), cls), sep));
  post.Summarize();
  return {};
}

Status BuildGgufRwkv(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  QUIRE_RETURN_IF_ERROR(BuildRwkv(vocabulary.tokens, vocabulary.unk_id, builder));
  QUIRE_RETURN_IF_ERROR(AddGgufSpecials(vocabulary, builder));
  SetIds(vocabulary, builder);
  SetGgufBosEos(vocabulary, false, false, builder);
  return {};
}

Status BuildGgufTokenizer(const GgufVocabulary& vocabulary, TokenizerBuilder& builder) {
  if (vocabulary.model == "gpt2") return BuildGgufBpe(vocabulary, builder);
  if (vocabulary.model == "llama") return BuildGgufSpm(vocabulary, builder);
  if (vocabulary.model == "bert") return BuildGgufWordPiece(vocabulary, builder);
  if (vocabulary.model == "t5") return BuildGgufUnigram(vocabulary, builder);
  if (vocabulary.model == "rwkv") return BuildGgufRwkv(vocabulary, builder);
  return Unimplemented(StrCat("tokenizer.ggml.model: unknown \"", Printable(vocabulary.model),
                              "\", known are gpt2, llama, bert, t5 and rwkv"));
}

}  // namespace quire
