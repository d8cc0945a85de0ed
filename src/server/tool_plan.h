// What a request lets the model do with tools.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "formats/json.h"
#include "request/sampling_params.h"
#include "server/api_state.h"
#include "server/field_names.h"
#include "server/tool_parsers/parameter_types.h"

namespace quire {

enum class ToolMode {
  kNone,      // the answer is text
  kAuto,      // calls are looked for in the text
  kRequired,  // the answer is a list of calls
  kNamed,     // the answer is the arguments of one function
};

struct ToolPlan {
  ToolMode mode = ToolMode::kNone;
  std::string function_name;                    // of kNamed
  bool is_parallel = true;                      // else only the first call counts
  bool shows_tools = false;                     // to the template
  std::shared_ptr<const ParameterTypes> types;  // of the functions; of kAuto
};

struct ToolFields {
  const Json& tools;
  const Json& tool_choice;
  bool is_parallel = true;
};

// From `tools` and `tool_choice` as OpenAI has them (null: absent). Puts the constraint of
// kRequired and kNamed into `sampling`, and into `names` what the engine's words of it mean.
// kInvalidArgument names the field. Warns where calls may not be found.
Result<ToolPlan> PlanTools(ApiCall& call, const ToolFields& fields, SamplingParams& sampling,
                           FieldNames& names);

// Notes that the model does not see `tools` (null: none), where its chat template shows none.
void WarnOfTools(ApiCall& call, const Json& tools);

}  // namespace quire
