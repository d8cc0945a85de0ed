#include "server/constraint.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/field_reader.h"

namespace quire {
namespace {

// structured_outputs, as it is read.
struct StructuredOutputs {
  JsonFieldOf<AnySchema> json;
  std::optional<std::string> regex;
  JsonFieldOf<StringsSchema> choice;
  std::optional<std::string> grammar;
  std::optional<bool> json_object;
  JsonFieldOf<AnySchema> structural_tag;
  bool disable_any_whitespace = false;
  bool disable_additional_properties = false;
  std::optional<std::string> whitespace_pattern;
};

template <typename Visitor>
void VisitFields(StructuredOutputs& r, Visitor&& visit) {
  visit("json", r.json, "");
  visit("regex", r.regex, "");
  visit("choice", r.choice, "");
  visit("grammar", r.grammar, "");
  visit("json_object", r.json_object, "");
  visit("structural_tag", r.structural_tag, "");
  visit("disable_any_whitespace", r.disable_any_whitespace, "");
  visit("disable_additional_properties", r.disable_additional_properties, "");
  visit("whitespace_pattern", r.whitespace_pattern, "");
  visit("_backend", AcceptedField(), "");
  visit("_backend_was_auto", AcceptedField(), "");
}

// Constraints found so far, with the name of the field that each came from.
class Found {
 public:
  void Add(std::string_view field, StructuredOutputParams params) {
    names_.emplace_back(field);
    params_ = std::move(params);
  }
  void Add(std::string_view field, ConstraintKind kind, std::string text) {
    StructuredOutputParams params;
    params.kind = kind;
    params.text = std::move(text);
    Add(field, std::move(params));
  }

  Status AddChoices(std::string_view field, const Json& choices) {
    StructuredOutputParams params;
    params.kind = ConstraintKind::kChoice;
    if (!choices.is_array() || choices.array().empty()) {
      return InvalidArgument(StrCat(field, ": must be a list of at least one string"));
    }
    for (const Json& choice : choices.array()) {
      if (!choice.is_string()) {
        return InvalidArgument(StrCat(field, ": must be a list of strings, got ", choice.kind()));
      }
      params.choices.push_back(choice.string());
    }
    Add(field, std::move(params));
    return {};
  }

  // A schema as an object, or as its text.
  Status AddSchema(std::string_view field, ConstraintKind kind, const Json& schema) {
    if (schema.is_string()) {
      Add(field, kind, schema.string());
    } else if (schema.is_object() || schema.is_bool()) {
      Add(field, kind, schema.Dump());
    } else {
      return InvalidArgument(
          StrCat(field, ": must be a JSON schema or its text, got ", schema.kind()));
    }
    return {};
  }

  std::size_t size() const { return names_.size(); }

  Result<Constraint> Take(const StructuredOutputParams& manner, FieldNames& field_names) && {
    if (names_.empty()) return Constraint();
    if (names_.size() > 1) {
      return InvalidArgument(StrCat(names_[1], ": an answer can follow one constraint only, and ",
                                    names_[0], " is given too"));
    }
    NameConstraint(names_[0], field_names);
    params_.disable_any_whitespace = manner.disable_any_whitespace;
    params_.disable_additional_properties = manner.disable_additional_properties;
    params_.whitespace_pattern = manner.whitespace_pattern;
    return std::make_shared<const StructuredOutputParams>(std::move(params_));
  }

 private:
  std::vector<std::string> names_;
  StructuredOutputParams params_;
};

Status AddResponseFormat(const Json& format, Found& found) {
  constexpr std::string_view kField = "response_format";
  const Json* type = format.Find("type");
  if (type == nullptr || !type->is_string()) {
    return InvalidArgument(
        "response_format.type: must be text, json_object, json_schema or structural_tag");
  }
  const std::string& name = type->string();
  if (name == "text") return {};
  if (name == "json_object") {
    found.Add(kField, ConstraintKind::kJsonObject, "");
    return {};
  }
  if (name == "structural_tag") {
    found.Add(kField, ConstraintKind::kStructuralTag, format.Dump());
    return {};
  }
  if (name != "json_schema") {
    return InvalidArgument(StrCat(
        "response_format.type: must be text, json_object, json_schema or structural_tag, got ",
        Printable(name)));
  }
  const Json* holder = format.Find("json_schema");
  const Json* schema = holder == nullptr ? nullptr : holder->Find("schema");
  if (schema == nullptr) {
    return InvalidArgument("response_format.json_schema.schema: is required");
  }
  QUIRE_RETURN_IF_ERROR(
      found.AddSchema("response_format.json_schema.schema", ConstraintKind::kJson, *schema));
  return {};
}

Status AddStructuredOutputs(const Json& value, Found& found, StructuredOutputParams& manner) {
  constexpr std::string_view kField = "structured_outputs";
  if (!value.is_object()) {
    return InvalidArgument(StrCat("structured_outputs: must be an object, got ", value.kind()));
  }
  StructuredOutputs fields;
  Json copy = value;
  const Result<FieldNotes> notes = ReadFields(copy, fields);
  if (!notes.ok()) return UnderPath(kField, notes.status());
  if (!notes->unknown.empty()) {
    return InvalidArgument(
        StrCat("structured_outputs: has no field ", Printable(notes->unknown.front())));
  }
  const std::size_t before = found.size();
  if (fields.json.is_given()) {
    QUIRE_RETURN_IF_ERROR(
        found.AddSchema("structured_outputs.json", ConstraintKind::kJson, fields.json.value));
  }
  if (fields.regex) found.Add("structured_outputs.regex", ConstraintKind::kRegex, *fields.regex);
  if (fields.choice.is_given()) {
    QUIRE_RETURN_IF_ERROR(found.AddChoices("structured_outputs.choice", fields.choice.value));
  }
  if (fields.grammar) {
    found.Add("structured_outputs.grammar", ConstraintKind::kGrammar, *fields.grammar);
  }
  if (fields.json_object.value_or(false)) {
    found.Add("structured_outputs.json_object", ConstraintKind::kJsonObject, "");
  }
  if (fields.structural_tag.is_given()) {
    QUIRE_RETURN_IF_ERROR(found.AddSchema("structured_outputs.structural_tag",
                                          ConstraintKind::kStructuralTag,
                                          fields.structural_tag.value));
  }
  if (found.size() == before) {
    return InvalidArgument(
        "structured_outputs: must hold one of json, regex, choice, grammar, json_object and "
        "structural_tag");
  }
  manner.disable_any_whitespace = fields.disable_any_whitespace;
  manner.disable_additional_properties = fields.disable_additional_properties;
  manner.whitespace_pattern = fields.whitespace_pattern.value_or("");
  return {};
}

}  // namespace

void NameConstraint(const std::string& field, FieldNames& names) {
  const std::string outer = names.Outer(field);
  for (const char* inner : {"structured_outputs", "json schema", "json", "regex", "choice",
                            "grammar", "structural_tag"}) {
    names.Add(inner, outer);
  }
}

Result<Constraint> ReadConstraint(const ConstraintFields& fields, FieldNames& names) {
  Found found;
  StructuredOutputParams manner;
  if (fields.response_format.is_given()) {
    QUIRE_RETURN_IF_ERROR(AddResponseFormat(fields.response_format.value, found));
  }
  if (fields.structured_outputs.is_given()) {
    QUIRE_RETURN_IF_ERROR(AddStructuredOutputs(fields.structured_outputs.value, found, manner));
  }
  if (fields.guided_json.is_given()) {
    QUIRE_RETURN_IF_ERROR(
        found.AddSchema("guided_json", ConstraintKind::kJson, fields.guided_json.value));
  }
  if (fields.guided_regex) found.Add("guided_regex", ConstraintKind::kRegex, *fields.guided_regex);
  if (fields.guided_choice.is_given()) {
    QUIRE_RETURN_IF_ERROR(found.AddChoices("guided_choice", fields.guided_choice.value));
  }
  if (fields.guided_grammar) {
    found.Add("guided_grammar", ConstraintKind::kGrammar, *fields.guided_grammar);
  }
  if (fields.guided_json_object.value_or(false)) {
    found.Add("guided_json_object", ConstraintKind::kJsonObject, "");
  }
  if (fields.guided_whitespace_pattern) {
    manner.whitespace_pattern = *fields.guided_whitespace_pattern;
  }
  return std::move(found).Take(manner, names);
}

Constraint SchemaConstraint(const Json& schema) {
  auto params = std::make_shared<StructuredOutputParams>();
  params->kind = ConstraintKind::kJson;
  params->text = schema.Dump();
  return params;
}

}  // namespace quire
