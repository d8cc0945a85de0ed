// What a request asks of the shape of its answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quire {

enum class ConstraintKind { kJson, kJsonObject, kRegex, kChoice, kGrammar, kStructuralTag };

// White space beyond this before the marker of a beginning is of the answer itself.
inline constexpr std::size_t kMaxSpaceBytesBeforeReasoning = 256;

// What stands around the reasoning of a model before its answer.
struct ReasoningMarkers {
  std::string begin;  // empty: none is written
  std::string end;
  // Whether an answer without `begin`, after a prompt that has neither opened nor closed the
  // reasoning, is reasoning until `end`.
  bool begins_unmarked = false;

  friend bool operator==(const ReasoningMarkers&, const ReasoningMarkers&) = default;
};

// vLLM's StructuredOutputsParams: one constraint and how it is read.
struct StructuredOutputParams {
  ConstraintKind kind = ConstraintKind::kJson;
  std::string text;                  // schema (JSON), regex, EBNF or GBNF, structural tag (JSON)
  std::vector<std::string> choices;  // of kChoice
  bool disable_any_whitespace = false;
  bool disable_additional_properties = false;
  std::string whitespace_pattern;  // empty: the backend's own
  // Reasoning may go before; the constraint holds for what comes after it.
  std::optional<ReasoningMarkers> reasoning;

  friend bool operator==(const StructuredOutputParams&, const StructuredOutputParams&) = default;
};

}  // namespace quire
