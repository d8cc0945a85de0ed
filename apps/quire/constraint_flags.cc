#include "apps/quire/constraint_flags.h"

#include <utility>

#include "apps/quire/io.h"

namespace quire {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

}  // namespace

void ConstraintFlags::AddTo(FlagSet& flags) {
  flags.Group("Structured output");
  flags.Add("json_schema", json_schema, "The answer is JSON that conforms to this schema", "FILE");
  flags.Add("json_object", json_object, "The answer is a JSON object");
  flags.Add("regex", regex, "The answer matches this regular expression as a whole", "REGEX");
  flags.Add("grammar", grammar, "The answer belongs to this grammar (EBNF or GBNF)", "FILE");
  flags.Add("structural_tag", structural_tag,
            "Free text, but for what follows a trigger (JSON with structures and triggers)",
            "FILE");
  Flag choice;
  choice.value_name = "TEXT";
  choice.help = "The answer is this text; may be given several times";
  choice.set = [this](std::string_view text) {
    choices.emplace_back(text);
    return Status();
  };
  flags.AddFlag("choice", std::move(choice));
  flags.Add("disable_any_whitespace", disable_any_whitespace,
            "JSON has no white space but after commas and colons");
  flags.Add("disable_additional_properties", disable_additional_properties,
            "Objects whose schema lists properties have no others");
  flags.Add("whitespace_pattern", whitespace_pattern, "White space between the tokens of JSON",
            "REGEX");
}

Result<std::shared_ptr<const StructuredOutputParams>> ConstraintFlags::Params() const {
  std::vector<std::pair<ConstraintKind, std::string>> given;
  const auto add_file = [&](ConstraintKind kind, const std::optional<std::string>& path) -> Status {
    if (!path) return {};
    QUIRE_ASSIGN_OR_RETURN(std::string text, ReadInput(*path, kMaxFileBytes));
    given.emplace_back(kind, std::move(text));
    return {};
  };
  QUIRE_RETURN_IF_ERROR(add_file(ConstraintKind::kJson, json_schema));
  QUIRE_RETURN_IF_ERROR(add_file(ConstraintKind::kGrammar, grammar));
  QUIRE_RETURN_IF_ERROR(add_file(ConstraintKind::kStructuralTag, structural_tag));
  if (json_object) given.emplace_back(ConstraintKind::kJsonObject, "");
  if (regex) given.emplace_back(ConstraintKind::kRegex, *regex);
  if (!choices.empty()) given.emplace_back(ConstraintKind::kChoice, "");
  if (given.empty()) return std::shared_ptr<const StructuredOutputParams>();
  if (given.size() > 1) {
    return InvalidArgument(
        "only one of --json-schema, --json-object, --regex, --grammar, --structural-tag and "
        "--choice can hold at once");
  }
  auto params = std::make_shared<StructuredOutputParams>();
  params->kind = given[0].first;
  params->text = std::move(given[0].second);
  params->choices = choices;
  params->disable_any_whitespace = disable_any_whitespace;
  params->disable_additional_properties = disable_additional_properties;
  params->whitespace_pattern = whitespace_pattern;
  return std::shared_ptr<const StructuredOutputParams>(std::move(params));
}

}  // namespace quire
