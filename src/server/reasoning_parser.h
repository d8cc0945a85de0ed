// The ways in which models part their reasoning from the answer, under vLLM's names for
// --reasoning-parser.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/answer_parser.h"

namespace quire {

struct ReasoningFormat {
  std::string_view name;
  bool needs_special_tokens = false;  // as in ToolFormat
  std::unique_ptr<AnswerParser> (*make)(std::string_view prompt_end) = nullptr;
  // What ends the reasoning; a constraint of the content begins after it.
  std::string_view end_marker;
  std::string_view begin_marker;  // empty: none
  bool begins_unmarked = false;   // what has no `begin_marker` is reasoning all the same
};

// The format of that name or alias. "auto" looks at the chat template; it gives null where the
// template shows no reasoning. kInvalidArgument, with the names that there are, for any other.
Result<const ReasoningFormat*> FindReasoningFormat(std::string_view name,
                                                   std::string_view chat_template);

// Every name that FindReasoningFormat takes, for help texts; sorted.
std::vector<std::string> ReasoningFormatNames();

}  // namespace quire
