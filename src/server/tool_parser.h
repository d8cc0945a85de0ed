// The ways in which models write tool calls, under vLLM's names for --tool-call-parser.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/answer_parser.h"

namespace quire {

class ParameterTypes;  // server/tool_parsers/parameter_types.h

struct ToolFormat {
  std::string_view name;
  // Its markers are special tokens: the answer is to be generated with skip_special_tokens off,
  // or they do not reach the parser.
  bool needs_special_tokens = false;
  // `types` may be null; it outlives the parser.
  std::unique_ptr<AnswerParser> (*make)(std::uint64_t id_seed,
                                        const ParameterTypes* types) = nullptr;
};

// The format of that name or alias. "auto" looks at how the chat template writes earlier calls; it
// gives null where the template says nothing of them. kInvalidArgument, with the names that there
// are, for any other name.
Result<const ToolFormat*> FindToolFormat(std::string_view name, std::string_view chat_template);

// Every name that FindToolFormat takes, for help texts; sorted.
std::vector<std::string> ToolFormatNames();

}  // namespace quire
