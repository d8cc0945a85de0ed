#include "tokenizer/component_config.h"

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire {

Result<std::unique_ptr<const Pattern>> ReadPattern(const Json& config) {
  const Json* pattern = config.Find("pattern");
  if (pattern == nullptr || !pattern->is_object()) {
    return InvalidArgument("pattern: must be an object with String or Regex");
  }
  if (const Json* text = pattern->Find("String"); text != nullptr && text->is_string()) {
    return MakeLiteralPattern(text->string());
  }
  if (const Json* text = pattern->Find("Regex"); text != nullptr && text->is_string()) {
    return MakeRegexPattern(text->string());
  }
  return InvalidArgument("pattern: must be an object with String or Regex");
}

Result<char32_t> RequireChar(const Json& config, std::string_view name) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, RequireString(config, name));
  if (CountCodePoints(text) != 1) {
    return InvalidArgument(StrCat(name, ": must be one character, got \"", Printable(text), "\""));
  }
  return FirstCodePoint(text).code;
}

Result<const JsonArray*> RequireParts(const Json& config, std::string_view name, int depth) {
  const Json* parts = config.Find(name);
  if (parts == nullptr || !parts->is_array()) {
    return InvalidArgument(StrCat(name, ": must be an array"));
  }
  if (depth > kMaxComponentDepth) {
    return InvalidArgument(StrCat(name, ": sequences nested deeper than ", kMaxComponentDepth));
  }
  if (parts->array().size() > kMaxComponentCount) {
    return InvalidArgument(StrCat(name, ": more than ", kMaxComponentCount, " parts"));
  }
  return &parts->array();
}

}  // namespace quire
