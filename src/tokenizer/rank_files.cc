// Vocabularies of byte strings and ranks: tekken.json and tiktoken files.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "formats/json.h"
#include "tokenizer/bpe.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/precompiled.h"
#include "tokenizer/scanners.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

namespace {

// A token, in base64, and its place in the order of merges.
struct RankedToken {
  std::string_view base64;
  std::int64_t rank;
};

// Fills vocabulary, pre-tokenizer, model and decoder; ids are ranks plus `first_id`.
Status BuildRanked(const std::vector<RankedToken>& tokens, TokenId first_id,
                   std::string_view pattern, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  pipeline.vocabulary.Reserve(tokens.size() + first_id, tokens.size() * 10);
  std::vector<std::uint32_t> ranks;
  std::string piece;
  for (const RankedToken& token : tokens) {
    const std::optional<std::string> bytes = DecodeBase64(token.base64);
    if (!bytes || bytes->empty()) {
      return DataLoss(StrCat("token of rank ", token.rank, ": not base64 of at least one byte"));
    }
    if (token.rank < 0 || token.rank > kMaxTokenId - first_id) {
      return DataLoss(StrCat("rank must be 0 to ", kMaxTokenId - first_id, ", got ", token.rank));
    }
    piece.clear();
    AppendByteChars(piece, *bytes);
    const auto id = static_cast<TokenId>(token.rank + first_id);
    QUIRE_RETURN_IF_ERROR(pipeline.vocabulary.Add(piece, id));
    if (ranks.size() <= static_cast<std::size_t>(id)) ranks.resize(id + 1, MergeRule::kNone);
    ranks[id] = static_cast<std::uint32_t>(token.rank);
  }
  QUIRE_ASSIGN_OR_RETURN(auto split, MakeRegexPattern(pattern));
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  parts.push_back(MakeSplit(std::move(split), SplitBehavior::kIsolated));
  parts.push_back(MakeByteLevel(false, false));
  pipeline.pre_tokenizer = MakePreTokenizerSequence(std::move(parts));
  pipeline.model_takes_bytes = true;
  BpeOptions options;
  options.is_byte_level = true;
  options.ignore_merges = true;  // a word that is a token is that token
  pipeline.model = std::make_unique<BpeModel>(
      pipeline.vocabulary, std::make_unique<PieceRules>(pipeline.vocabulary, std::move(ranks)),
      std::move(options));
  pipeline.decoder.steps.push_back(MakeByteLevelDecoder());
  pipeline.decoder.traits.has_byte_chars = true;
  builder.description().model = "BPE";
  return {};
}

// Mistral's special tokens where the file does not list them.
constexpr std::string_view kTekkenSpecials[] = {"<unk>",
                                                "<s>",
                                                "</s>",
                                                "[INST]",
                                                "[/INST]",
                                                "[AVAILABLE_TOOLS]",
                                                "[/AVAILABLE_TOOLS]",
                                                "[TOOL_RESULTS]",
                                                "[/TOOL_RESULTS]",
                                                "[TOOL_CALLS]",
                                                "[IMG]",
                                                "<pad>",
                                                "[IMG_BREAK]",
                                                "[IMG_END]",
                                                "[PREFIX]",
                                                "[MIDDLE]",
                                                "[SUFFIX]",
                                                "[SYSTEM_PROMPT]",
                                                "[/SYSTEM_PROMPT]",
                                                "[TOOL_CONTENT]"};

Status AddTekkenSpecials(const Json& root, TokenId count, TokenizerBuilder& builder) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (TokenId id = 0; id < count; ++id) names.push_back(StrCat("<SPECIAL_", id, ">"));
  const Json* listed = root.Find("special_tokens");
  if (listed != nullptr && listed->is_array()) {
    for (const Json& entry : listed->array()) {
      QUIRE_ASSIGN_OR_RETURN(const std::int64_t rank, RequireInt(entry, "rank"));
      QUIRE_ASSIGN_OR_RETURN(std::string text, RequireString(entry, "token_str"));
      if (rank < 0 || rank >= count) {
        return DataLoss(StrCat("special_tokens: rank must be below ", count, ", got ", rank));
      }
      names[static_cast<std::size_t>(rank)] = std::move(text);
    }
  } else {
    for (std::size_t i = 0; i < std::size(kTekkenSpecials) && i < names.size(); ++i) {
      names[i] = kTekkenSpecials[i];
    }
  }
  builder.pipeline().added.skipped_hide_others = false;
  for (TokenId id = 0; id < count; ++id) {
    QUIRE_RETURN_IF_ERROR(builder.AddToken(
        {.id = id, .content = std::move(names[id]), .is_special = true, .is_normalized = false}));
  }
  const auto find = [&](std::string_view text) -> std::optional<TokenId> {
    const TokenId id = builder.pipeline().Find(text);
    return id == kNoToken ? std::nullopt : std::optional(id);
  };
  builder.SetBos(find("<s>"));
  builder.SetEos(find("</s>"));
  builder.SetUnk(find("<unk>"));
  builder.SetPad(find("<pad>"));
  return {};
}

Status ReadTekken(std::string_view json, TokenizerBuilder& builder) {
  QUIRE_ASSIGN_OR_RETURN(const Json root, ParseJson(json));
  const Json* config = root.Find("config");
  const Json* vocab = root.Find("vocab");
  if (config == nullptr || vocab == nullptr || !vocab->is_array()) {
    return DataLoss("must have config and vocab");
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string pattern, RequireString(*config, "pattern"));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t size, RequireInt(*config, "default_vocab_size"));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t num_special,
                         RequireInt(*config, "default_num_special_tokens"));
  if (num_special < 0 || size < num_special || size > kMaxTokenId) {
    return DataLoss(StrCat("config: default_vocab_size ", size, " and default_num_special_tokens ",
                           num_special, " do not fit"));
  }
  std::vector<RankedToken> tokens;
  for (const Json& entry : vocab->array()) {
    QUIRE_ASSIGN_OR_RETURN(const std::int64_t rank, RequireInt(entry, "rank"));
    const Json* bytes = entry.Find("token_bytes");
    if (bytes == nullptr || !bytes->is_string()) {
      return DataLoss(StrCat("vocab: rank ", rank, " has no token_bytes"));
    }
    // The file holds more tokens than the models use.
    if (rank < size - num_special) tokens.push_back({bytes->string(), rank});
  }
  QUIRE_RETURN_IF_ERROR(BuildRanked(tokens, static_cast<TokenId>(num_special), pattern, builder));
  return AddTekkenSpecials(root, static_cast<TokenId>(num_special), builder);
}

Status ReadTiktoken(std::string_view text, TokenizerBuilder& builder) {
  std::vector<RankedToken> tokens;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) {
      if (line.empty() || line == "\r") continue;
      return DataLoss(StrCat("line ", tokens.size() + 1, ": must be a token and its rank"));
    }
    std::string_view digits = line.substr(blank + 1);
    if (digits.ends_with('\r')) digits.remove_suffix(1);
    const auto rank = ParseNumber<std::int64_t>(digits);
    if (!rank) return DataLoss(StrCat("line ", tokens.size() + 1, ": the rank must be a number"));
    tokens.push_back({line.substr(0, blank), *rank});
  }
  if (tokens.empty()) return DataLoss("holds no tokens");
  return BuildRanked(tokens, 0, ScannerNamed("cl100k").source, builder);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromTekken(std::string_view json,
                                                               const HfTokenizerFiles& beside) {
  TokenizerBuilder builder;
  builder.description().source = "tekken.json";
  Status status = ReadTekken(json, builder);
  if (!status.ok()) return status.With("tekken.json");
  PostProcessor& post = builder.pipeline().post;
  post.steps.push_back(MakeBosEosTemplate(builder.bos_id(), std::nullopt));
  post.Summarize();
  QUIRE_RETURN_IF_ERROR(ApplyHfConfigs(beside, builder));
  return builder.Build();
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromTiktoken(std::string_view text,
                                                                 const HfTokenizerFiles& beside) {
  TokenizerBuilder builder;
  builder.description().source = "tiktoken";
  Status status = ReadTiktoken(text, builder);
  if (!status.ok()) return status.With("tiktoken");
  builder.pipeline().post.Summarize();
  QUIRE_RETURN_IF_ERROR(ApplyHfConfigs(beside, builder));
  return builder.Build();
}

}  // namespace quire
