#include "structured/constraint.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "formats/json.h"
#include "structured/ebnf.h"
#include "structured/grammar.h"
#include "structured/json_text.h"
#include "structured/schema_grammar.h"
#include "structured/string_set.h"

namespace quire {
namespace {

using structured::Grammar;
using structured::JsonText;
using structured::Regex;

constexpr std::size_t kMaxChoiceBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxEbnfBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxShortestBytes = std::size_t{64} << 10;
constexpr std::int64_t kMaxRepetitions = 100'000;
constexpr std::size_t kDfaStates = 400;  // larger ones are better kept as the tree they came from

// The whole text matches.
Result<Grammar::Node> TextsOfRegex(std::string_view pattern, JsonText& json) {
  QUIRE_ASSIGN_OR_RETURN(Regex regex, structured::ParseRegex(pattern));
  const Result<structured::Dfa> dfa = structured::Dfa::From(regex);
  const bool is_small = dfa.ok() && dfa->states().size() <= kDfaStates;
  if (!dfa.ok() && dfa.status().code() != Code::kResourceExhausted) return dfa.status();
  if (!is_small && (!structured::HasAnchors(regex) || structured::StripAnchors(regex))) {
    return json.TextLike(regex);
  }
  if (!dfa.ok()) return dfa.status();
  return json.TextIn(*dfa);
}

Result<Grammar::Node> TextsOfChoices(const std::vector<std::string>& choices, Grammar& grammar) {
  if (choices.empty()) return InvalidArgument("choice: must have at least one");
  std::size_t num_bytes = 0;
  std::vector<Grammar::Node> ways;
  for (const std::string& choice : choices) {
    if (!IsValidUtf8(choice)) return InvalidArgument("choice: is not valid UTF-8");
    num_bytes += choice.size();
    ways.push_back(grammar.Text(choice));
  }
  if (num_bytes > kMaxChoiceBytes) {
    return ResourceExhausted(
        StrCat("choice: ", num_bytes, " bytes in all, at most ", kMaxChoiceBytes, " are read"));
  }
  return grammar.Choice(std::move(ways));
}

Result<structured::JsonLayout> LayoutOf(const StructuredOutputParams& params) {
  structured::JsonLayout layout;
  layout.is_free = !params.disable_any_whitespace;
  if (params.whitespace_pattern.empty()) return layout;
  Result<Regex> parsed = structured::ParseRegex(params.whitespace_pattern);
  if (!parsed.ok()) return parsed.status().With("whitespace_pattern");
  Regex regex = *std::move(parsed);
  static const structured::CharSet kBlanks =
      structured::CharSet(U' ') | structured::CharSet(U'\t') | structured::CharSet(U'\n') |
      structured::CharSet(U'\r');
  for (structured::RegexNode& node : regex.nodes) {
    if (node.kind != structured::RegexNode::Kind::kChars) continue;
    node.chars = node.chars & kBlanks;  // \s says more than JSON allows
    if (node.chars.empty()) {
      return InvalidArgument("whitespace_pattern: matches what is no white space in JSON");
    }
  }
  if (structured::HasAnchors(regex) && !structured::StripAnchors(regex)) {
    return Unimplemented("whitespace_pattern: unsupported: anchors inside it");
  }
  layout.white_space = std::move(regex);
  return layout;
}

// {"structures": [{"begin", "schema", "end"}], "triggers": [...]}: free text in which what begins
// with a trigger is one of the structures.
Result<Grammar::Node> TextsOfTags(const StructuredOutputParams& params, JsonText& json) {
  Grammar& grammar = json.grammar();
  QUIRE_ASSIGN_OR_RETURN(const Json tag, ParseJson(params.text, {.max_depth = 128}));
  if (tag.Find("format") != nullptr) {
    return Unimplemented("structural_tag: unsupported: format; give structures and triggers");
  }
  const Json* structures = tag.Find("structures");
  const Json* triggers = tag.Find("triggers");
  if (structures == nullptr || !structures->is_array() || structures->array().empty() ||
      triggers == nullptr || !triggers->is_array()) {
    return InvalidArgument("structural_tag: must have structures and triggers, both arrays");
  }
  std::map<std::string, std::vector<Grammar::Node>> bodies;
  for (const Json& trigger : triggers->array()) {
    if (!trigger.is_string() || trigger.string().empty()) {
      return InvalidArgument("structural_tag: triggers must be texts that are not empty");
    }
    bodies[trigger.string()];
  }
  for (const Json& structure : structures->array()) {
    QUIRE_ASSIGN_OR_RETURN(const std::string begin, RequireString(structure, "begin"));
    QUIRE_ASSIGN_OR_RETURN(const std::string end, RequireString(structure, "end"));
    const Json* schema = structure.Find("schema");
    const std::string schema_text = schema == nullptr     ? "true"
                                    : schema->is_string() ? schema->string()
                                                          : schema->Dump();
    const auto trigger = std::ranges::find_if(
        bodies, [&](const auto& entry) { return begin.starts_with(entry.first); });
    if (trigger == bodies.end()) {
      return InvalidArgument(StrCat("structural_tag: no trigger begins ", Printable(begin)));
    }
    QUIRE_ASSIGN_OR_RETURN(
        const Grammar::Rule rule,
        structured::CompileSchema(schema_text, {params.disable_additional_properties}, json));
    trigger->second.push_back(grammar.Sequence(
        {grammar.Text(begin.substr(trigger->first.size())), grammar.Ref(rule), grammar.Text(end)}));
  }
  std::vector<Grammar::Trigger> dispatch;
  for (auto& [text, ways] : bodies) {
    if (ways.empty()) continue;
    dispatch.push_back({text, grammar.RuleOf(grammar.Choice(std::move(ways)))});
  }
  return grammar.Dispatch(std::move(dispatch));
}

Result<Grammar::Rule> RootOf(const StructuredOutputParams& params, JsonText& json) {
  Grammar& grammar = json.grammar();
  switch (params.kind) {
    case ConstraintKind::kJson:
      return structured::CompileSchema(params.text, {params.disable_additional_properties}, json);
    case ConstraintKind::kJsonObject:
      return grammar.RuleOf(json.AnyObject());
    case ConstraintKind::kRegex: {
      QUIRE_ASSIGN_OR_RETURN(const Grammar::Node texts, TextsOfRegex(params.text, json));
      return grammar.RuleOf(texts);
    }
    case ConstraintKind::kChoice: {
      QUIRE_ASSIGN_OR_RETURN(const Grammar::Node texts, TextsOfChoices(params.choices, grammar));
      return grammar.RuleOf(texts);
    }
    case ConstraintKind::kGrammar:
      return structured::ParseEbnf(params.text, grammar);
    case ConstraintKind::kStructuralTag: {
      QUIRE_ASSIGN_OR_RETURN(const Grammar::Node texts, TextsOfTags(params, json));
      return grammar.RuleOf(texts);
    }
  }
  return Internal("an unknown kind of constraint");
}

Result<GrammarText> TextOf(const StructuredOutputParams& params) {
  QUIRE_ASSIGN_OR_RETURN(structured::JsonLayout layout, LayoutOf(params));
  Grammar grammar;
  JsonText json(grammar, std::move(layout));
  QUIRE_ASSIGN_OR_RETURN(const Grammar::Rule root, RootOf(params, json));
  grammar.SetRoot(root);
  if (grammar.RepetitionProduct() > kMaxRepetitions) {
    return ResourceExhausted(StrCat(NameOf(params.kind),
                                    ": repetitions inside one another come to "
                                    "more than ",
                                    kMaxRepetitions));
  }
  Result<std::string> ebnf = grammar.ToEbnf();
  if (!ebnf.ok()) {
    const bool is_schema = params.kind == ConstraintKind::kJson;
    return ebnf.status().With(StrCat(NameOf(params.kind), is_schema ? ": #" : ""));
  }
  if (ebnf->size() > kMaxEbnfBytes) {
    return ResourceExhausted(StrCat(NameOf(params.kind), ": the grammar that it makes has ",
                                    ebnf->size(), " bytes, at most ", kMaxEbnfBytes,
                                    " are compiled"));
  }
  return GrammarText{*std::move(ebnf), grammar.ShortestText(kMaxShortestBytes)};
}

}  // namespace

std::string_view NameOf(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kJson:
      return "json schema";
    case ConstraintKind::kJsonObject:
      return "json_object";
    case ConstraintKind::kRegex:
      return "regex";
    case ConstraintKind::kChoice:
      return "choice";
    case ConstraintKind::kGrammar:
      return "grammar";
    case ConstraintKind::kStructuralTag:
      return "structural_tag";
  }
  return "constraint";
}

Result<GrammarText> GrammarTextOf(const StructuredOutputParams& params) {
  Result<GrammarText> text = TextOf(params);
  if (text.ok() || text.status().code() == Code::kInternal) return text;
  std::string message = text.status().message();
  // What goes beyond a bound of ours is no mistake of the client's either.
  const bool is_bound = text.status().code() == Code::kResourceExhausted;
  if (is_bound && message.find("unsupported") == std::string::npos) {
    const std::string name = StrCat(NameOf(params.kind), ": ");
    if (message.starts_with(name)) message.erase(0, name.size());
    message = StrCat(name, "unsupported: ", message);
  }
  return InvalidArgument(message);  // whatever it is, the client can change it
}

Result<std::string> GrammarOf(const StructuredOutputParams& params) {
  QUIRE_ASSIGN_OR_RETURN(GrammarText text, GrammarTextOf(params));
  return std::move(text.ebnf);
}

}  // namespace quire
