#include "tokenizer/hf_models.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "formats/json.h"
#include "tokenizer/bpe.h"
#include "tokenizer/json_cursor.h"
#include "tokenizer/merge_batch.h"
#include "tokenizer/unigram.h"
#include "tokenizer/wordpiece.h"

namespace quire {

namespace {

// The model section: its large members as text, the rest as a tree.
struct ModelSection {
  Json config;
  std::string_view vocab, merges;  // empty: absent
};

Result<ModelSection> SplitModel(const JsonMembers& members) {
  ModelSection out;
  JsonObject rest;
  for (const auto& [name, text] : members) {
    if (name == "vocab") {
      out.vocab = text;
    } else if (name == "merges") {
      out.merges = text;
    } else {
      QUIRE_ASSIGN_OR_RETURN(Json value, ParseJson(text));
      rest.emplace_back(name, std::move(value));
    }
  }
  out.config = Json(std::move(rest));
  return out;
}

// Adds pieces to a vocabulary a little later than they are read; meanwhile the processor fetches
// the memory where they go.
class PieceQueue {
 public:
  explicit PieceQueue(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Reads the next piece, which piece() then is, from the cursor's text.
  bool Read(JsonCursor& cursor) { return cursor.ReadString(Next().piece, Next().buffer); }
  std::string_view piece() { return Next().piece; }
  Status Push(TokenId id);
  Status Finish();  // adds those that still wait

 private:
  struct Entry {
    std::string_view piece;
    std::string buffer;
    TokenId id;
  };
  Entry& Next() { return entries_[count_ % entries_.size()]; }
  Status Add(const Entry& entry) { return vocabulary_.AddOrMove(entry.piece, entry.id); }

  Vocabulary& vocabulary_;
  std::array<Entry, Vocabulary::kPrefetchDistance> entries_;
  std::size_t count_ = 0;  // of those pushed; all but the last few are added
};

Status PieceQueue::Push(TokenId id) {
  Next().id = id;
  vocabulary_.Prefetch(Next().piece);
  ++count_;
  return count_ < entries_.size() ? Status() : Add(Next());
}

Status PieceQueue::Finish() {
  for (std::size_t left = std::min(count_, entries_.size() - 1); left > 0; --left) {
    QUIRE_RETURN_IF_ERROR(Add(entries_[(count_ - left) % entries_.size()]));
  }
  count_ = 0;
  return {};
}

// {"piece": id, …}
Status ReadVocabulary(std::string_view text, Vocabulary& vocabulary) {
  JsonCursor cursor(text);
  const auto fault = [&](std::string_view wanted) {
    return InvalidArgument(StrCat("vocab: ", wanted, ", at byte ", cursor.position()));
  };
  if (!cursor.Consume('{')) return fault("must be an object of pieces and ids");
  vocabulary.Reserve(text.size() / 24, text.size() / 2);
  if (cursor.Consume('}')) return {};
  PieceQueue pieces(vocabulary);
  do {
    std::int64_t id = 0;
    if (!pieces.Read(cursor) || !cursor.Consume(':')) return fault("must hold pieces and ids");
    if (!cursor.ReadInteger(id) || id < 0 || id > kMaxTokenId) {
      return fault(StrCat("the id of \"", Printable(pieces.piece()),
                          "\" must be an integer from 0 to ", kMaxTokenId));
    }
    QUIRE_RETURN_IF_ERROR(pieces.Push(static_cast<TokenId>(id)));
  } while (cursor.Consume(','));
  QUIRE_RETURN_IF_ERROR(pieces.Finish());
  return cursor.Consume('}') && cursor.AtEnd() ? Status() : fault("must be an object");
}

// A merge as it stands in the file: views into the text, or into the buffers where there are
// escapes.
struct MergeText {
  std::string_view left, right;
  std::string left_buffer, right_buffer;

  bool is_comment() const { return right.empty() && left.starts_with("#version"); }
};

// "left right" or ["left", "right"].
bool ReadMerge(JsonCursor& cursor, MergeText& out) {
  if (cursor.Consume('[')) {
    return cursor.ReadString(out.left, out.left_buffer) && cursor.Consume(',') &&
           cursor.ReadString(out.right, out.right_buffer) && cursor.Consume(']');
  }
  if (!cursor.ReadString(out.left, out.left_buffer)) return false;
  out.right = {};
  if (out.is_comment()) return true;
  const std::size_t blank = out.left.find(' ');
  if (blank == std::string_view::npos) return false;
  out.right = out.left.substr(blank + 1);
  out.left = out.left.substr(0, blank);
  return out.right.find(' ') == std::string_view::npos;
}

Status Flush(MergeBatch& batch) {
  const auto missing = batch.Flush();
  if (!missing) return {};
  return InvalidArgument(StrCat("merges: number ", missing->rank, ", \"", Printable(missing->left),
                                "\" and \"", Printable(missing->right),
                                "\", has a piece that is not in the vocabulary"));
}

Result<std::unique_ptr<const PairRules>> ReadMerges(std::string_view text,
                                                    const Vocabulary& vocabulary,
                                                    std::size_t prefix_bytes) {
  JsonCursor cursor(text);
  if (!cursor.Consume('[')) return InvalidArgument("merges: must be an array");
  auto rules = std::make_unique<PairRules>(static_cast<std::size_t>(vocabulary.num_pieces()));
  if (cursor.Consume(']')) return std::unique_ptr<const PairRules>(std::move(rules));
  MergeBatch batch(vocabulary, *rules, prefix_bytes);
  std::array<MergeText, MergeBatch::kMaxMerges> merges;
  std::uint32_t rank = 0;
  do {
    MergeText& merge = merges[rank % merges.size()];
    if (!ReadMerge(cursor, merge)) {
      QUIRE_RETURN_IF_ERROR(Flush(batch));  // a fault of an earlier one comes first
      return InvalidArgument(StrCat("merges: number ", rank, " must be two pieces"));
    }
    if (merge.is_comment()) continue;
    if (!batch.Push(merge.left, merge.right, rank++)) QUIRE_RETURN_IF_ERROR(Flush(batch));
  } while (cursor.Consume(','));
  QUIRE_RETURN_IF_ERROR(Flush(batch));
  if (!cursor.Consume(']') || !cursor.AtEnd()) return InvalidArgument("merges: must be an array");
  return std::unique_ptr<const PairRules>(std::move(rules));
}

Result<std::string> OptionalString(const Json& config, std::string_view name) {
  return StringOr(config, name, std::string());
}

Status ReadBpe(const ModelSection& section, TokenizerBuilder& builder) {
  const Json& config = section.config;
  Pipeline& pipeline = builder.pipeline();
  QUIRE_ASSIGN_OR_RETURN(const double dropout, NumberOr(config, "dropout", 0.0));
  if (dropout != 0) return Unimplemented(StrCat("dropout: must be 0, got ", dropout));
  QUIRE_RETURN_IF_ERROR(ReadVocabulary(section.vocab, pipeline.vocabulary));
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
      ReadMerges(section.merges, pipeline.vocabulary, options.continuing_subword_prefix.size()));
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

Status ReadUnigram(const ModelSection& section, TokenizerBuilder& builder) {
  const Json& config = section.config;
  Pipeline& pipeline = builder.pipeline();
  std::vector<double> scores;
  std::vector<TokenId> ids;
  JsonCursor cursor(section.vocab);
  if (!cursor.Consume('[')) return InvalidArgument("vocab: must be an array of pieces and scores");
  PieceQueue pieces(pipeline.vocabulary);
  for (bool is_first = true; !cursor.Consume(']'); is_first = false) {
    double score = 0;
    if ((!is_first && !cursor.Consume(',')) || !cursor.Consume('[') || !pieces.Read(cursor) ||
        !cursor.Consume(',') || !cursor.ReadNumber(score) || !cursor.Consume(']')) {
      return InvalidArgument(StrCat("vocab: entry ", ids.size(), " must be a piece and a score"));
    }
    ids.push_back(static_cast<TokenId>(ids.size()));
    scores.push_back(AsOriginalReads(score));
    QUIRE_RETURN_IF_ERROR(pieces.Push(ids.back()));
  }
  QUIRE_RETURN_IF_ERROR(pieces.Finish());
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

Status ReadWordPiece(const ModelSection& section, TokenizerBuilder& builder) {
  const Json& config = section.config;
  Pipeline& pipeline = builder.pipeline();
  QUIRE_RETURN_IF_ERROR(ReadVocabulary(section.vocab, pipeline.vocabulary));
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

Status ReadWordLevel(const ModelSection& section, TokenizerBuilder& builder) {
  const Json& config = section.config;
  Pipeline& pipeline = builder.pipeline();
  QUIRE_RETURN_IF_ERROR(ReadVocabulary(section.vocab, pipeline.vocabulary));
  QUIRE_ASSIGN_OR_RETURN(std::string unk, StringOr(config, "unk_token", "<unk>"));
  builder.SetUnk(pipeline.Find(unk));
  pipeline.model = std::make_unique<WordLevelModel>(pipeline.vocabulary, std::move(unk));
  return {};
}

// Old files lack the type; what else stands there tells it.
std::string TypeOf(const ModelSection& section) {
  const Json& config = section.config;
  if (const Json* type = config.Find("type"); type != nullptr && type->is_string()) {
    return type->string();
  }
  if (!section.merges.empty()) return "BPE";
  if (config.Find("max_input_chars_per_word") != nullptr) return "WordPiece";
  if (config.Find("unk_id") != nullptr) return "Unigram";
  return "WordLevel";
}

}  // namespace

Status ReadModel(const JsonMembers& members, TokenizerBuilder& builder) {
  if (members.empty()) return InvalidArgument("must be an object that describes a model");
  QUIRE_ASSIGN_OR_RETURN(const ModelSection section, SplitModel(members));
  const std::string type = TypeOf(section);
  builder.description().model = type;
  if (type == "BPE") return ReadBpe(section, builder);
  if (type == "Unigram") return ReadUnigram(section, builder);
  if (type == "WordPiece") return ReadWordPiece(section, builder);
  if (type == "WordLevel") return ReadWordLevel(section, builder);
  return Unimplemented(StrCat("type: unknown model \"", Printable(type), "\""));
}

}  // namespace quire
