#include "structured/string_set.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "structured/formats.h"
#include "structured/schema_keywords.h"

namespace quire::structured {
namespace {

using Kind = RegexNode::Kind;

std::int32_t Add(RegexNode node, Regex& regex) {
  regex.nodes.push_back(std::move(node));
  return static_cast<std::int32_t>(regex.nodes.size()) - 1;
}

Status At(const SchemaDocument& document, const PatternRule& rule, std::string_view keyword,
          const Status& status) {
  if (status.ok()) return status;
  return KeywordError(document, status.code(), *rule.at, keyword, status.message());
}

}  // namespace

bool HasAnchors(const Regex& regex) {
  return std::ranges::any_of(regex.nodes, [](const RegexNode& node) {
    return node.kind == Kind::kStart || node.kind == Kind::kEnd;
  });
}

bool StripAnchors(Regex& regex) {
  const auto count = std::ranges::count_if(regex.nodes, [](const RegexNode& node) {
    return node.kind == Kind::kStart || node.kind == Kind::kEnd;
  });
  RegexNode& root = regex.nodes[static_cast<std::size_t>(regex.root)];
  if (count != 2 || root.kind != Kind::kSequence || root.parts.size() < 2) return false;
  const auto kind_of = [&](std::int32_t part) {
    return regex.nodes[static_cast<std::size_t>(part)].kind;
  };
  if (kind_of(root.parts.front()) != Kind::kStart || kind_of(root.parts.back()) != Kind::kEnd) {
    return false;
  }
  regex.nodes[static_cast<std::size_t>(root.parts.front())].kind = Kind::kEmpty;
  regex.nodes[static_cast<std::size_t>(root.parts.back())].kind = Kind::kEmpty;
  root.parts = std::vector<std::int32_t>(root.parts.begin() + 1, root.parts.end() - 1);
  return true;
}

Result<Dfa> StringsWith(std::string_view pattern, const RegexOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(Regex regex, ParseRegex(pattern, options));
  const auto anything = [&] {
    const std::int32_t any = Add({.kind = Kind::kChars, .chars = CharSet::All()}, regex);
    return Add({.kind = Kind::kRepeat, .parts = {any}, .min = 0, .max = kUnbounded}, regex);
  };
  const std::int32_t before = anything();
  const std::int32_t after = anything();
  regex.root = Add({.kind = Kind::kSequence, .parts = {before, regex.root, after}}, regex);
  return Dfa::From(regex);
}

Result<Dfa> StringsOf(const SchemaDocument& document, const Shape& shape) {
  Dfa strings = Dfa::AllTexts();
  for (const PatternRule& rule : shape.patterns) {
    const Result<Dfa> matching = StringsWith(rule.pattern, {.is_wide = !rule.must_match});
    QUIRE_RETURN_IF_ERROR(At(document, rule, "pattern", matching.status()));
    Result<Dfa> both = rule.must_match ? strings.And(*matching) : strings.AndNot(*matching);
    QUIRE_RETURN_IF_ERROR(At(document, rule, "pattern", both.status()));
    strings = *std::move(both);
  }
  for (const PatternRule& rule : shape.formats) {
    const Result<std::optional<Dfa>> format = TextsOfFormat(rule.pattern);
    QUIRE_RETURN_IF_ERROR(At(document, rule, "format", format.status()));
    if (!*format) continue;
    Result<Dfa> both = strings.And(**format);
    QUIRE_RETURN_IF_ERROR(At(document, rule, "format", both.status()));
    strings = *std::move(both);
  }
  if (shape.min_length > 0 || shape.max_length != kUnbounded) {
    QUIRE_ASSIGN_OR_RETURN(const Dfa sized, Dfa::OfLength(shape.min_length, shape.max_length));
    QUIRE_ASSIGN_OR_RETURN(strings, strings.And(sized));
  }
  std::vector<std::string_view> words;
  for (const Json* value : shape.excluded) {
    if (value->is_string()) words.emplace_back(value->string());
  }
  if (!words.empty()) {
    QUIRE_ASSIGN_OR_RETURN(strings, strings.AndNot(Dfa::OfWords(words)));
  }
  return strings;
}

}  // namespace quire::structured
