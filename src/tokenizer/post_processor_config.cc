// The post_processor, truncation and padding sections of a tokenizer.json.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "tokenizer/component_config.h"
#include "tokenizer/post_processors.h"
#include "tokenizer/vocabulary.h"

namespace quire {

namespace {

constexpr std::int64_t kMaxLength = std::int64_t{1} << 24;  // of truncation and padding
constexpr std::size_t kMaxTemplateTokens = 4096;

Result<TokenId> CheckId(std::int64_t id) {
  if (id < 0 || id > kMaxTokenId) {
    return InvalidArgument(StrCat("id must be 0 to ", kMaxTokenId, ", got ", id));
  }
  return static_cast<TokenId>(id);
}

// ["text", id] of Bert's and Roberta's processors.
Result<TokenId> ReadTokenPair(const Json& config, std::string_view name) {
  const Json* pair = config.Find(name);
  if (pair == nullptr || !pair->is_array() || pair->array().size() != 2 ||
      !pair->array()[1].is_int()) {
    return InvalidArgument(StrCat(name, ": must be a token and its id"));
  }
  return CheckId(pair->array()[1].integer());
}

Status ReadBert(const Json& config, bool is_roberta, PostProcessor& out) {
  QUIRE_ASSIGN_OR_RETURN(const TokenId sep, ReadTokenPair(config, "sep"));
  QUIRE_ASSIGN_OR_RETURN(const TokenId cls, ReadTokenPair(config, "cls"));
  const std::int32_t second = is_roberta ? 0 : 1;
  PostTemplate step;
  step.keeps_type_ids = true;
  step.has_zero_type_ids = is_roberta;
  step.wraps_sequences = true;
  step.single = {{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep}, 0}};
  step.pair = step.single;
  if (is_roberta) step.pair.push_back({-1, {sep}, 0});
  step.pair.push_back({1, {}, second});
  step.pair.push_back({-1, {sep}, second});
  out.steps.push_back(std::move(step));
  return {};
}

// The ids that a name of `special_tokens` stands for.
Result<std::vector<TokenId>> SpecialIds(const Json& config, const std::string& name) {
  const Json* all = config.Find("special_tokens");
  const Json* token = all == nullptr ? nullptr : all->Find(name);
  const Json* ids = token == nullptr ? nullptr : token->Find("ids");
  if (ids == nullptr || !ids->is_array() || ids->array().size() > kMaxTemplateTokens) {
    return InvalidArgument(
        StrCat("special_tokens: no ids for \"", Printable(name), "\", which the template names"));
  }
  std::vector<TokenId> out;
  for (const Json& id : ids->array()) {
    if (!id.is_int()) return InvalidArgument("special_tokens: ids must be integers");
    QUIRE_ASSIGN_OR_RETURN(out.emplace_back(), CheckId(id.integer()));
  }
  return out;
}

Result<TemplatePiece> ReadPiece(const Json& config, const Json& piece) {
  TemplatePiece out;
  const Json* sequence = piece.Find("Sequence");
  const Json* special = piece.Find("SpecialToken");
  const Json* body = sequence != nullptr ? sequence : special;
  if (body == nullptr) {
    return InvalidArgument("template: a piece must be a Sequence or a SpecialToken");
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string id, RequireString(*body, "id"));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t type_id, IntOr(*body, "type_id", 0));
  out.type_id = static_cast<std::int32_t>(std::clamp<std::int64_t>(type_id, 0, 1 << 30));
  if (sequence != nullptr) {
    if (id != "A" && id != "B") return InvalidArgument("template: a Sequence must be A or B");
    out.sequence_idx = id == "B";
  } else {
    QUIRE_ASSIGN_OR_RETURN(out.ids, SpecialIds(config, id));
  }
  return out;
}

// The shorthand "[CLS] $A:0 [SEP]": pieces between blanks.
Result<TemplatePiece> ReadShortPiece(const Json& config, std::string_view text) {
  TemplatePiece out;
  std::string_view name = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const auto type_id = ParseNumber<std::int32_t>(text.substr(colon + 1));
    if (type_id) {
      out.type_id = *type_id;
      name = text.substr(0, colon);
    }
  }
  if (!name.starts_with('$')) {
    QUIRE_ASSIGN_OR_RETURN(out.ids, SpecialIds(config, std::string(name)));
    return out;
  }
  const std::string_view sequence = name.substr(1);
  out.sequence_idx = sequence == "B" || sequence == "b";
  if (const auto type_id = ParseNumber<std::int32_t>(sequence)) out.type_id = *type_id;
  return out;
}

Result<std::vector<TemplatePiece>> ReadPieces(const Json& config, std::string_view name) {
  std::vector<TemplatePiece> out;
  const Json* pieces = config.Find(name);
  if (pieces != nullptr && pieces->is_string()) {
    for (const std::string_view part : Split(pieces->string(), ' ')) {
      QUIRE_ASSIGN_OR_RETURN(out.emplace_back(), ReadShortPiece(config, part));
      if (out.size() > kMaxTemplateTokens) return InvalidArgument(StrCat(name, ": too long"));
    }
    return out;
  }
  if (pieces == nullptr || !pieces->is_array() || pieces->array().size() > kMaxTemplateTokens) {
    return InvalidArgument(
        StrCat(name, ": must be an array of at most ", kMaxTemplateTokens, " pieces"));
  }
  for (const Json& piece : pieces->array()) {
    QUIRE_ASSIGN_OR_RETURN(out.emplace_back(), ReadPiece(config, piece));
  }
  return out;
}

Status ReadTemplate(const Json& config, PostProcessor& out) {
  PostTemplate step;
  QUIRE_ASSIGN_OR_RETURN(step.single, ReadPieces(config, "single"));
  QUIRE_ASSIGN_OR_RETURN(step.pair, ReadPieces(config, "pair"));
  for (const TemplatePiece& piece : step.single) {
    if (piece.sequence_idx == 1) {
      return InvalidArgument("single: names sequence B, which a single text lacks");
    }
  }
  out.steps.push_back(std::move(step));
  return {};
}

Status Read(const Json& config, int depth, PostProcessor& out) {
  QUIRE_ASSIGN_OR_RETURN(const std::string type, RequireString(config, "type"));
  if (type == "ByteLevel") return {};  // it only moves offsets
  if (type == "TemplateProcessing") return ReadTemplate(config, out);
  if (type == "BertProcessing") return ReadBert(config, false, out);
  if (type == "RobertaProcessing") return ReadBert(config, true, out);
  if (type != "Sequence") {
    return Unimplemented(StrCat("type: unknown post-processor \"", Printable(type), "\""));
  }
  QUIRE_ASSIGN_OR_RETURN(const JsonArray* parts, RequireParts(config, "processors", depth));
  for (const Json& part : *parts) QUIRE_RETURN_IF_ERROR(Read(part, depth + 1, out));
  return {};
}

Result<std::size_t> ReadLength(const Json& config, std::string_view name) {
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t length, RequireInt(config, name));
  if (length < 0 || length > kMaxLength) {
    return InvalidArgument(StrCat(name, ": must be 0 to ", kMaxLength, ", got ", length));
  }
  return static_cast<std::size_t>(length);
}

}  // namespace

Status ReadPostProcessor(const Json& config, PostProcessor& out) {
  if (!config.is_null()) QUIRE_RETURN_IF_ERROR(Read(config, 0, out));
  out.Summarize();
  return {};
}

Status ReadTruncation(const Json& config, PostProcessor& out) {
  if (config.is_null()) return {};
  Truncation truncation;
  QUIRE_ASSIGN_OR_RETURN(truncation.max_length, ReadLength(config, "max_length"));
  QUIRE_ASSIGN_OR_RETURN(truncation.stride, ReadLength(config, "stride"));
  QUIRE_ASSIGN_OR_RETURN(const std::string direction, StringOr(config, "direction", "Right"));
  QUIRE_ASSIGN_OR_RETURN(const std::string strategy, StringOr(config, "strategy", "LongestFirst"));
  truncation.from_left = direction == "Left";
  if (strategy == "OnlyFirst") {
    truncation.strategy = TruncationStrategy::kOnlyFirst;
  } else if (strategy == "OnlySecond") {
    truncation.strategy = TruncationStrategy::kOnlySecond;
  } else if (strategy != "LongestFirst") {
    return InvalidArgument(StrCat("strategy: unknown \"", Printable(strategy), "\""));
  }
  out.truncation = truncation;
  return {};
}

Status ReadPadding(const Json& config, PostProcessor& out) {
  if (config.is_null()) return {};
  Padding padding;
  QUIRE_ASSIGN_OR_RETURN(const std::string direction, StringOr(config, "direction", "Right"));
  padding.on_left = direction == "Left";
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t id, IntOr(config, "pad_id", 0));
  QUIRE_ASSIGN_OR_RETURN(padding.id, CheckId(id));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t type_id, IntOr(config, "pad_type_id", 0));
  padding.type_id = static_cast<std::int32_t>(std::clamp<std::int64_t>(type_id, 0, 1 << 30));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t multiple, IntOr(config, "pad_to_multiple_of", 0));
  padding.multiple_of = static_cast<std::size_t>(std::clamp<std::int64_t>(multiple, 0, kMaxLength));
  const Json* strategy = config.Find("strategy");
  if (strategy != nullptr && strategy->is_object()) {
    QUIRE_ASSIGN_OR_RETURN(padding.fixed_length, ReadLength(*strategy, "Fixed"));
  }
  out.padding = padding;
  return {};
}

}  // namespace quire
