// The decoder section of a tokenizer.json.
#include <utility>

#include "base/strings.h"
#include "tokenizer/component_config.h"
#include "tokenizer/decoders.h"
#include "tokenizer/text_pre_tokenizers.h"

namespace quire {

namespace {

using Made = Result<std::unique_ptr<const Decoder>>;

Made ReadStrip(const Json& config) {
  constexpr std::int64_t kMaxCut = 1 << 20;
  QUIRE_ASSIGN_OR_RETURN(const char32_t content, RequireChar(config, "content"));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t start, IntOr(config, "start", 0));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t stop, IntOr(config, "stop", 0));
  if (start < 0 || stop < 0 || start > kMaxCut || stop > kMaxCut) {
    return InvalidArgument(StrCat("start and stop: must be 0 to ", kMaxCut));
  }
  return MakeStripDecoder(content, static_cast<int>(start), static_cast<int>(stop));
}

Made ReadReplace(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(std::string content, RequireString(config, "content"));
  const Json* pattern = config.Find("pattern");
  if (pattern != nullptr) {
    if (const Json* text = pattern->Find("String"); text != nullptr && text->is_string()) {
      return MakeReplaceDecoder(text->string(), std::move(content));
    }
  }
  QUIRE_ASSIGN_OR_RETURN(std::unique_ptr<const Pattern> regex, ReadPattern(config));
  return MakePatternReplaceDecoder(std::move(regex), std::move(content));
}

Made ReadMetaspace(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const char32_t replacement, RequireChar(config, "replacement"));
  QUIRE_ASSIGN_OR_RETURN(const PrependScheme scheme, ReadPrependScheme(config));
  return MakeMetaspaceDecoder(replacement, scheme != PrependScheme::kNever);
}

Made ReadCtc(const Json& config) {
  CtcOptions options;
  QUIRE_ASSIGN_OR_RETURN(options.pad_token, StringOr(config, "pad_token", "<pad>"));
  QUIRE_ASSIGN_OR_RETURN(options.word_delimiter_token,
                         StringOr(config, "word_delimiter_token", "|"));
  QUIRE_ASSIGN_OR_RETURN(options.cleanup, BoolOr(config, "cleanup", true));
  return MakeCtcDecoder(std::move(options));
}

Made ReadOne(const Json& config, std::string_view type) {
  if (type == "ByteLevel") return MakeByteLevelDecoder();
  if (type == "ByteFallback") return MakeByteFallbackDecoder();
  if (type == "Fuse") return MakeFuseDecoder();
  if (type == "Strip") return ReadStrip(config);
  if (type == "Replace") return ReadReplace(config);
  if (type == "Metaspace") return ReadMetaspace(config);
  if (type == "CTC") return ReadCtc(config);
  if (type == "WordPiece") {
    QUIRE_ASSIGN_OR_RETURN(std::string prefix, StringOr(config, "prefix", "##"));
    QUIRE_ASSIGN_OR_RETURN(const bool cleanup, BoolOr(config, "cleanup", true));
    return MakeWordPieceDecoder(std::move(prefix), cleanup);
  }
  if (type == "BPEDecoder") {
    QUIRE_ASSIGN_OR_RETURN(std::string suffix, StringOr(config, "suffix", "</w>"));
    return MakeBpeDecoder(std::move(suffix));
  }
  return Unimplemented(StrCat("type: unknown decoder \"", Printable(type), "\""));
}

Status Append(const Json& config, int depth, DecoderChain& chain) {
  const Result<std::string> read_type = RequireString(config, "type");
  if (!read_type.ok()) return read_type.status();
  const std::string_view type = *read_type;
  if (type == "Sequence") {
    QUIRE_ASSIGN_OR_RETURN(const JsonArray* parts, RequireParts(config, "decoders", depth));
    for (const Json& part : *parts) QUIRE_RETURN_IF_ERROR(Append(part, depth + 1, chain));
    return {};
  }
  if (chain.steps.size() >= kMaxComponentCount) {
    return InvalidArgument(StrCat("decoders: more than ", kMaxComponentCount));
  }
  QUIRE_ASSIGN_OR_RETURN(std::unique_ptr<const Decoder> decoder, ReadOne(config, type));
  chain.steps.push_back(std::move(decoder));
  chain.traits.has_byte_chars |= type == "ByteLevel";
  chain.traits.has_byte_fallback |= type == "ByteFallback";
  return {};
}

}  // namespace

Result<DecoderChain> MakeDecoder(const Json& config) {
  DecoderChain chain;
  if (config.is_null()) {
    chain.joins_with_blank = true;
    return chain;
  }
  QUIRE_RETURN_IF_ERROR(Append(config, 0, chain));
  return chain;
}

}  // namespace quire
