// The flags that constrain an answer, shared by `generate` and `structured check`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/quire/flags.h"
#include "base/status.h"
#include "request/structured_output_params.h"

namespace quire {

struct ConstraintFlags {
  std::optional<std::string> json_schema;  // files
  bool json_object = false;
  std::optional<std::string> regex;
  std::optional<std::string> grammar;
  std::optional<std::string> structural_tag;
  std::vector<std::string> choices;
  bool disable_any_whitespace = false;
  bool disable_additional_properties = false;
  std::string whitespace_pattern;

  void AddTo(FlagSet& flags);
  // Null where none was given. kInvalidArgument where there are two.
  Result<std::shared_ptr<const StructuredOutputParams>> Params() const;
};

}  // namespace quire
