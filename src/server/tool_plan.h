// What a request lets the model do with tools.
#pragma once

#include <string>

#include "base/status.h"
#include "formats/json.h"
#include "request/sampling_params.h"
#include "server/api_state.h"

namespace quire {

enum class ToolMode {
  kNone,      // the answer is text
  kAuto,      // calls are looked for in the text
  kRequired,  // the answer is a list of calls
  kNamed,     // the answer is the arguments of one function
};

struct ToolPlan {
  ToolMode mode = ToolMode::kNone;
  std::string function_name;  // of kNamed
  bool is_parallel = true;    // else only the first call counts
  bool shows_tools = false;   // to the template
};

// From `tools` and `tool_choice` as OpenAI has them (null: absent). Puts the constraint of
// kRequired and kNamed into `sampling`. kInvalidArgument names the field.
Result<ToolPlan> PlanTools(const ApiState& state, const Json& tools, const Json& tool_choice,
                           bool is_parallel, SamplingParams& sampling);

}  // namespace quire
