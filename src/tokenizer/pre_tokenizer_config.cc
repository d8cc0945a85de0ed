// The pre_tokenizer section of a tokenizer.json.
#include <optional>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/component_config.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/text_pre_tokenizers.h"

namespace quire {

namespace {

using Made = Result<std::unique_ptr<const PreTokenizer>>;

Result<SplitBehavior> ReadBehavior(const Json& config, const char* fallback) {
  QUIRE_ASSIGN_OR_RETURN(const std::string name, StringOr(config, "behavior", fallback));
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return InvalidArgument(StrCat("behavior: unknown \"", Printable(name), "\""));
}

Made ReadSplit(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(std::unique_ptr<const Pattern> pattern, ReadPattern(config));
  QUIRE_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(config, ""));
  QUIRE_ASSIGN_OR_RETURN(const bool is_inverted, BoolOr(config, "invert", false));
  return MakeSplit(std::move(pattern), behavior, is_inverted);
}

Made ReadByteLevel(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const bool add_prefix_space, BoolOr(config, "add_prefix_space", true));
  QUIRE_ASSIGN_OR_RETURN(const bool use_regex, BoolOr(config, "use_regex", true));
  return MakeByteLevel(add_prefix_space, use_regex);
}

Made ReadMetaspace(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const char32_t replacement, RequireChar(config, "replacement"));
  QUIRE_ASSIGN_OR_RETURN(const PrependScheme scheme, ReadPrependScheme(config));
  QUIRE_ASSIGN_OR_RETURN(const bool has_split, BoolOr(config, "split", true));
  return MakeMetaspace(replacement, scheme, has_split);
}

Made Read(const Json& config, int depth);

Made ReadSequence(const Json& config, int depth) {
  QUIRE_ASSIGN_OR_RETURN(const JsonArray* configs, RequireParts(config, "pretokenizers", depth));
  std::vector<std::unique_ptr<const PreTokenizer>> parts;
  for (const Json& part : *configs) {
    QUIRE_ASSIGN_OR_RETURN(parts.emplace_back(), Read(part, depth + 1));
  }
  return MakePreTokenizerSequence(std::move(parts));
}

Made Read(const Json& config, int depth) {
  QUIRE_ASSIGN_OR_RETURN(const std::string type, RequireString(config, "type"));
  if (type == "Sequence") return ReadSequence(config, depth);
  if (type == "Split") return ReadSplit(config);
  if (type == "ByteLevel") return ReadByteLevel(config);
  if (type == "Metaspace") return ReadMetaspace(config);
  if (type == "Whitespace") return MakeWhitespace();
  if (type == "WhitespaceSplit") return MakeWhitespaceSplit();
  if (type == "BertPreTokenizer") return MakeBertPreTokenizer();
  if (type == "UnicodeScripts") return MakeUnicodeScripts();
  if (type == "Digits") {
    QUIRE_ASSIGN_OR_RETURN(const bool is_individual, BoolOr(config, "individual_digits", false));
    return MakeDigits(is_individual);
  }
  if (type == "Punctuation") {
    QUIRE_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(config, "Isolated"));
    return MakePunctuation(behavior);
  }
  if (type == "CharDelimiterSplit") {
    QUIRE_ASSIGN_OR_RETURN(const std::string delimiter, RequireString(config, "delimiter"));
    QUIRE_RETURN_IF_ERROR(RequireChar(config, "delimiter").status());
    return MakeSplit(MakeLiteralPattern(delimiter), SplitBehavior::kRemoved);
  }
  if (type == "FixedLength") {
    QUIRE_ASSIGN_OR_RETURN(const std::int64_t length, IntOr(config, "length", 5));
    if (length < 1) return InvalidArgument(StrCat("length: must be positive, got ", length));
    return MakeFixedLength(static_cast<std::size_t>(length));
  }
  return Unimplemented(StrCat("type: unknown pre-tokenizer \"", Printable(type), "\""));
}

}  // namespace

Result<PrependScheme> ReadPrependScheme(const Json& config) {
  QUIRE_ASSIGN_OR_RETURN(const bool adds, BoolOr(config, "add_prefix_space", true));
  QUIRE_ASSIGN_OR_RETURN(const std::string scheme,
                         StringOr(config, "prepend_scheme", adds ? "always" : "never"));
  if (scheme == "always") return PrependScheme::kAlways;
  if (scheme == "first") return PrependScheme::kFirst;
  if (scheme == "never") return PrependScheme::kNever;
  return InvalidArgument(StrCat("prepend_scheme: unknown \"", Printable(scheme), "\""));
}

Result<std::unique_ptr<const PreTokenizer>> MakePreTokenizer(const Json& config) {
  if (config.is_null()) return std::unique_ptr<const PreTokenizer>();
  return Read(config, 0);
}

}  // namespace quire
