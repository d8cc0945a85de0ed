// Schemas, regular expressions and grammars that are meant to take for ever or fill memory.
#pragma once

#include "request/structured_output_params.h"

namespace quire {

// How many kinds there are; HostileConstraint(i) is of kind i % kNumHostileKinds.
inline constexpr int kNumHostileKinds = 50;

// The same for the same number; those of one kind differ in size and shape.
StructuredOutputParams HostileConstraint(int number);

}  // namespace quire
