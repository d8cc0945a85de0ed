#include "tokenizer/hf_models.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/bpe.h"
#include "tokenizer/unigram.h"
#include "tokenizer/wordpiece.h"

namespace quire {

namespace {

// {"piece": id, …}
Status ReadVocabulary(const Json& config, Vocabulary& vocabulary) {
  const Json* vocab = config.Find("vocab");
  if (vocab == nullptr || !vocab->is_object()) {
    return InvalidArgument("vocab: must be an object of pieces and ids");
  }
  std::size_t num_bytes = 0;
  for (const auto& [piece, id] : vocab->object()) num_bytes += piece.size();
  vocabulary.Reserve(vocab->object().size(), num_bytes);
  for (const auto& [piece, id] : vocab->object()) {
    if (!id.is_int() || id.integer() < 0 || id.integer() > kMaxTokenId) {
      return InvalidArgument(StrCat("vocab: the id of \"", Printable(piece),
                                    "\" must be an integer from 0 to ", kMaxTokenId));
    }
    QUIRE_RETURN_IF_ERROR(vocabulary.AddOrMove(piece, static_cast<TokenId>(id.integer())));
  }
  return {};
}

// "left right" or ["left", "right"].
Result<std::pair<std::string_view, std::string_view>> ReadMerge(const Json& merge) {
  if (merge.is_string()) {
    const std::string_view text = merge.string();
    const std::size_t blank = text.find(' ');
    if (blank != std::string_view::npos && text.find(' ', blank + 1) == std::string_view::npos) {
      return std::pair(text.substr(0, blank), text.substr(blank + 1));
    }
  } else if (merge.is_array() && merge.array().size() == 2 && merge.array()[0].is_string() &&
             merge.array()[1].is_string()) {
    return std::pair(std::string_view(merge.array()[0].string()),
                     std::string_view(merge.array()[1].string()));
  }
  return InvalidArgument("merges: each must be two pieces");
}

Result<std::unique_ptr<const PairRules>> ReadMerges(const Json& config,
                                                    const Vocabulary& vocabulary,
                                                    std::size_t prefix_bytes) {
  const Json* merges = config.Find("merges");
  if (merges == nullptr || !merges->is_array()) return InvalidArgument("merges: must be an array");
  auto rules = std::make_unique<PairRules>(merges->array().size());
  std::uint32_t rank = 0;
  std::string joined;
  for (const Json& merge : merges->array()) {
    if (merge.is_string() && merge.string().starts_with("#version")) continue;
    QUIRE_ASSIGN_OR_RETURN(const auto parts, ReadMerge(merge));
    joined = parts.first;
    joined += parts.second.substr(std::min(prefix_bytes, parts.second.size()));
    const TokenId left = vocabulary.Find(parts.first);
    const TokenId right = vocabulary.Find(parts.second);
    const TokenId whole = vocabulary.Find(joined);
    if (left == kNoToken || right == kNoToken || whole == kNoToken) {
      return InvalidArgument(StrCat("merges: number ", rank, ", \"", Printable(parts.first),
                                    "\" and \"", Printable(parts.second),
                                    "\", has a piece that is not in the vocabulary"));
    }
    rules->Add(left, right, {rank++, whole});
  }
  return std::unique_ptr<const PairRules>(std::move(rules));
}

Result<std::string> OptionalString(const Json& config, std::string_view name) {
  return StringOr(config, name, std::string());
}

Status ReadBpe(const Json& config, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  QUIRE_ASSIGN_OR_RETURN(const double dropout, NumberOr(config, "dropout", 0.0));
  if (dropout != 0) return Unimplemented(StrCat("dropout: must be 0, got ", dropout));
  QUIRE_RETURN_IF_ERROR(ReadVocabulary(config, pipeline.vocabulary));
  BpeOptions options;
  if (const Json* unk = config.Find("unk_token"); unk != nullptr && unk->is_string()) {
    options.unk_token = unk->string();
    builder.SetUnk(pipeline.Find(unk->string()));
  }
  QUIRE_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                         OptionalString(config, "continuing_subword_prefix"));
  QUIRE_ASSIGN_OR_RETURN(options.end_of_word_suffix, OptionalString(config, "end_of_word_suffix"));
  QUIRE_ASSIGN_OR_RETURN(options.fuse_unk, BoolOr(config, "fuse_unk", false));
  QUIRE_ASSIGN_OR_RETURN(options.byte_fallback, BoolOr(config, "byte_fallback", false));
  QUIRE_ASSIGN_OR_RETURN(options.ignore_merges, BoolOr(config, "ignore_merges", false));
  const bool is_plain = !options.byte_fallback && options.continuing_subword_prefix.empty() &&
                        options.end_of_word_suffix.empty();
  pipeline.model_takes_bytes =
      is_plain && pipeline.pre_tokenizer != nullptr && pipeline.pre_tokenizer->EndsInByteChars();
  options.is_byte_level = pipeline.model_takes_bytes;
  QUIRE_ASSIGN_OR_RETURN(
      std::unique_ptr<const PairRules> rules,
      ReadMerges(config, pipeline.vocabulary, options.continuing_subword_prefix.size()));
  pipeline.model =
      std::make_unique<BpeModel>(pipeline.vocabulary, std::move(rules), std::move(options));
  return {};
}

// A score as the original reads it: its JSON reader takes the digits as an integer, rounded to a
// double, and divides by a power of ten, which may be off by one bit. Ties between ways to cut a
// text hang on that.
double AsOriginalReads(double value) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::uint64_t digits = 0;
  int exponent = 0;
  bool has_point = false;
  const char* at = buffer;
  for (; at != end.ptr && *at != 'e'; ++at) {
    if (*at == '.') has_point = true;
    if (*at < '0' || *at > '9') continue;
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    exponent -= has_point;
  }
  if (at == end.ptr) return value;  // no number
  const char* power = at + (at[1] == '+' ? 2 : 1);
  int scale = 0;
  std::from_chars(power, end.ptr, scale);
  exponent += scale;
  if (exponent < -300 || exponent > 300) return value;
  const double magnitude = exponent < 0 ? static_cast<double>(digits) / std::pow(10.0, -exponent)
                                        : static_cast<double>(digits) * std::pow(10.0, exponent);
  return std::signbit(value) ? -magnitude : magnitude;
}

Status ReadUnigram(const Json& config, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  const Json* vocab = config.Find("vocab");
  if (vocab == nullptr || !vocab->is_array()) {
    return InvalidArgument("vocab: must be an array of pieces and scores");
  }
  std::vector<double> scores;
  std::vector<TokenId> ids;
  for (const Json& entry : vocab->array()) {
    if (!entry.is_array() || entry.array().size() != 2 || !entry.array()[0].is_string() ||
        !entry.array()[1].is_number()) {
      return InvalidArgument(StrCat("vocab: entry ", ids.size(), " must be a piece and a score"));
    }
    ids.push_back(static_cast<TokenId>(ids.size()));
    scores.push_back(AsOriginalReads(entry.array()[1].number()));
    QUIRE_RETURN_IF_ERROR(pipeline.vocabulary.AddOrMove(entry.array()[0].string(), ids.back()));
  }
  UnigramOptions options;
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t unk_id, IntOr(config, "unk_id", kNoToken));
  if (unk_id < kNoToken || unk_id >= static_cast<std::int64_t>(ids.size())) {
    return InvalidArgument(StrCat("unk_id: must be below ", ids.size(), ", got ", unk_id));
  }
  options.unk_id = static_cast<TokenId>(unk_id);
  QUIRE_ASSIGN_OR_RETURN(options.byte_fallback, BoolOr(config, "byte_fallback", false));
  if (unk_id >= 0) builder.SetUnk(options.unk_id);
  pipeline.model =
      std::make_unique<UnigramModel>(pipeline.vocabulary, std::move(scores), ids, options);
  return {};
}

Status ReadWordPiece(const Json& config, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  QUIRE_RETURN_IF_ERROR(ReadVocabulary(config, pipeline.vocabulary));
  WordPieceOptions options;
  QUIRE_ASSIGN_OR_RETURN(options.unk_token, StringOr(config, "unk_token", "[UNK]"));
  QUIRE_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                         StringOr(config, "continuing_subword_prefix", "##"));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t max_chars,
                         IntOr(config, "max_input_chars_per_word", 100));
  if (max_chars < 0 || max_chars > 100'000) {
    return InvalidArgument(
        StrCat("max_input_chars_per_word: must be 0 to 100000, got ", max_chars));
  }
  options.max_input_chars_per_word = static_cast<int>(max_chars);
  builder.SetUnk(pipeline.Find(options.unk_token));
  pipeline.model = std::make_unique<WordPieceModel>(pipeline.vocabulary, std::move(options));
  return {};
}

Status ReadWordLevel(const Json& config, TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  QUIRE_RETURN_IF_ERROR(ReadVocabulary(config, pipeline.vocabulary));
  QUIRE_ASSIGN_OR_RETURN(std::string unk, StringOr(config, "unk_token", "<unk>"));
  builder.SetUnk(pipeline.Find(unk));
  pipeline.model = std::make_unique<WordLevelModel>(pipeline.vocabulary, std::move(unk));
  return {};
}

// Old files lack the type; what else stands there tells it.
std::string TypeOf(const Json& config) {
  if (const Json* type = config.Find("type"); type != nullptr && type->is_string()) {
    return type->string();
  }
  if (config.Find("merges") != nullptr) return "BPE";
  if (config.Find("max_input_chars_per_word") != nullptr) return "WordPiece";
  if (config.Find("unk_id") != nullptr) return "Unigram";
  return "WordLevel";
}

}  // namespace

Status ReadModel(const Json& config, TokenizerBuilder& builder) {
  if (!config.is_object()) return InvalidArgument("must be an object");
  const std::string type = TypeOf(config);
  builder.description().model = type;
  if (type == "BPE") return ReadBpe(config, builder);
  if (type == "Unigram") return ReadUnigram(config, builder);
  if (type == "WordPiece") return ReadWordPiece(config, builder);
  if (type == "WordLevel") return ReadWordLevel(config, builder);
  return Unimplemented(StrCat("type: unknown model \"", Printable(type), "\""));
}

}  // namespace quire
