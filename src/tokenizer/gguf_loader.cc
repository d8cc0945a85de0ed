// The vocabulary in a GGUF file's metadata.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_builder.h"

namespace quire {

namespace {

// The array of strings called `key`; empty where it is absent.
Result<std::vector<std::string_view>> Strings(const GgufHeader& header, std::string_view key) {
  const GgufArray* array = header.Array(key);
  if (array == nullptr) return std::vector<std::string_view>();
  if (array->kind != GgufArray::Kind::kString) {
    return DataLoss(StrCat(key, ": must be an array of strings"));
  }
  return array->Strings();
}

Result<std::optional<TokenId>> ReadId(const GgufHeader& header, std::string_view key) {
  QUIRE_ASSIGN_OR_RETURN(const std::optional<std::int64_t> id, header.Int(key));
  // -1 and its unsigned readings say that there is none.
  if (!id || *id < 0 || *id > kMaxTokenId) return std::optional<TokenId>();
  return std::optional(static_cast<TokenId>(*id));
}

Status ReadFlags(const GgufHeader& header, GgufVocabulary& out) {
  QUIRE_ASSIGN_OR_RETURN(out.add_bos, header.Bool("tokenizer.ggml.add_bos_token"));
  QUIRE_ASSIGN_OR_RETURN(out.add_eos, header.Bool("tokenizer.ggml.add_eos_token"));
  QUIRE_ASSIGN_OR_RETURN(out.add_space_prefix, header.Bool("tokenizer.ggml.add_space_prefix"));
  QUIRE_ASSIGN_OR_RETURN(out.remove_extra_whitespaces,
                         header.Bool("tokenizer.ggml.remove_extra_whitespaces"));
  return {};
}

Status ReadIds(const GgufHeader& header, GgufVocabulary& out) {
  QUIRE_ASSIGN_OR_RETURN(out.bos_id, ReadId(header, "tokenizer.ggml.bos_token_id"));
  QUIRE_ASSIGN_OR_RETURN(out.eos_id, ReadId(header, "tokenizer.ggml.eos_token_id"));
  QUIRE_ASSIGN_OR_RETURN(out.unk_id, ReadId(header, "tokenizer.ggml.unknown_token_id"));
  QUIRE_ASSIGN_OR_RETURN(out.pad_id, ReadId(header, "tokenizer.ggml.padding_token_id"));
  QUIRE_ASSIGN_OR_RETURN(out.cls_id, ReadId(header, "tokenizer.ggml.cls_token_id"));
  // The misspelled key is the one that files have.
  QUIRE_ASSIGN_OR_RETURN(out.sep_id, ReadId(header, "tokenizer.ggml.seperator_token_id"));
  for (const std::string_view key :
       {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<TokenId> id, ReadId(header, key));
    if (id) out.more_eos_ids.push_back(*id);
  }
  return {};
}

Status ReadPieces(const GgufHeader& header, GgufVocabulary& out) {
  QUIRE_ASSIGN_OR_RETURN(out.tokens, Strings(header, "tokenizer.ggml.tokens"));
  QUIRE_ASSIGN_OR_RETURN(out.merges, Strings(header, "tokenizer.ggml.merges"));
  if (out.tokens.empty()) return DataLoss("tokenizer.ggml.tokens: absent or empty");
  if (out.tokens.size() > static_cast<std::size_t>(kMaxTokenId)) {
    return DataLoss(StrCat("tokenizer.ggml.tokens: more than ", kMaxTokenId));
  }
  if (const GgufArray* types = header.Array("tokenizer.ggml.token_type")) {
    out.types = types->Integers();
  }
  if (const GgufArray* scores = header.Array("tokenizer.ggml.scores")) {
    out.scores = scores->Floats();
  }
  const auto fits = [&](std::size_t size) { return size == 0 || size == out.tokens.size(); };
  if (!fits(out.types.size()) || !fits(out.scores.size())) {
    return DataLoss(StrCat("tokenizer.ggml.token_type and scores: must have ", out.tokens.size(),
                           " entries, got ", out.types.size(), " and ", out.scores.size()));
  }
  return {};
}

Result<GgufVocabulary> ReadVocabulary(const GgufHeader& header) {
  GgufVocabulary out;
  QUIRE_ASSIGN_OR_RETURN(const auto model, header.String("tokenizer.ggml.model"));
  if (!model) return NotFound("tokenizer.ggml.model: the file has no tokenizer");
  out.model = *model;
  QUIRE_ASSIGN_OR_RETURN(const auto pre, header.String("tokenizer.ggml.pre"));
  out.pre = pre.value_or("");
  QUIRE_ASSIGN_OR_RETURN(const auto map_key, header.String("general.architecture"));
  out.architecture = map_key.value_or("");
  QUIRE_RETURN_IF_ERROR(ReadPieces(header, out));
  QUIRE_RETURN_IF_ERROR(ReadIds(header, out));
  QUIRE_RETURN_IF_ERROR(ReadFlags(header, out));
  if (const GgufArray* map = header.Array("tokenizer.ggml.precompiled_charsmap")) {
    out.charsmap = std::string_view(reinterpret_cast<const char*>(map->bytes.data()),
                                    map->element_bytes == 1 ? map->bytes.size() : 0);
  }
  return out;
}

Status ReadChatTemplates(const GgufHeader& header, TokenizerBuilder& builder) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  for (const auto& [key, value] : header.metadata()) {
    const auto* text = std::get_if<std::string_view>(&value);
    if (text == nullptr || !key.starts_with(kKey)) continue;
    if (key == kKey) builder.AddChatTemplate("default", std::string(*text));
    if (key.substr(kKey.size()).starts_with('.')) {
      builder.AddChatTemplate(std::string(key.substr(kKey.size() + 1)), std::string(*text));
    }
  }
  return {};
}

void NameTemplateTokens(TokenizerBuilder& builder) {
  const auto name = [&](std::string_view variable, std::optional<TokenId> id) {
    if (id) {
      builder.AddTemplateToken(std::string(variable),
                               std::string(builder.pipeline().TokenText(*id)));
    }
  };
  name("bos_token", builder.bos_id());
  name("eos_token", builder.eos_id());
  name("pad_token", builder.pad_id());
  name("unk_token", builder.unk_id());
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::FromGguf(const GgufHeader& header) {
  QUIRE_ASSIGN_OR_RETURN(const GgufVocabulary vocabulary, ReadVocabulary(header));
  TokenizerBuilder builder;
  builder.description().source = "GGUF";
  QUIRE_RETURN_IF_ERROR(BuildGgufTokenizer(vocabulary, builder));
  QUIRE_RETURN_IF_ERROR(ReadChatTemplates(header, builder));
  NameTemplateTokens(builder);
  return builder.Build();
}

}  // namespace quire
