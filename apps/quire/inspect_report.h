// The facts that `quire inspect` tells, as one JSON object and as text made from it.
#pragma once

#include <string>

#include "base/status.h"
#include "config/engine_config.h"
#include "formats/json.h"

namespace quire {

struct InspectOptions {
  EngineConfig config;  // with the model's path
  bool json = false;
  bool tensors = false;
};

// What is known of the model. Parts that the file lacks, or that cannot be read (an unknown
// architecture, no tokenizer), are absent or hold an "error".
Result<Json> InspectModel(const InspectOptions& options);

// The report for a person.
std::string DescribeReport(const Json& report);

}  // namespace quire
