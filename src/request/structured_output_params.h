// What a request asks of the shape of its answer.
#pragma once

#include <string>
#include <vector>

namespace quire {

enum class ConstraintKind { kJson, kJsonObject, kRegex, kChoice, kGrammar, kStructuralTag };

// vLLM's StructuredOutputsParams: one constraint and how it is read.
struct StructuredOutputParams {
  ConstraintKind kind = ConstraintKind::kJson;
  std::string text;                  // schema (JSON), regex, EBNF or GBNF, structural tag (JSON)
  std::vector<std::string> choices;  // of kChoice
  bool disable_any_whitespace = false;
  bool disable_additional_properties = false;
  std::string whitespace_pattern;  // empty: the backend's own

  friend bool operator==(const StructuredOutputParams&, const StructuredOutputParams&) = default;
};

}  // namespace quire
