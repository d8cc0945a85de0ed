// A request's constraint, compiled within bounds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "request/structured_output_params.h"
#include "structured/backend.h"

namespace quire {

struct CompileLimits {
  std::chrono::duration<double> time = std::chrono::seconds(10);  // of the processor
  std::int64_t max_bytes = std::int64_t{512} << 20;  // of the backend, while it compiles
};

struct CompiledConstraint {
  std::shared_ptr<const CompiledGrammar> grammar;
  std::string shortest;  // GrammarText's
};

// GrammarTextOf, then the backend. kInvalidArgument with the errors of both, and where a limit is
// reached: then the work is broken off, and what it took is given back.
Result<CompiledConstraint> CompileConstraint(const GrammarBackend& backend,
                                             const StructuredOutputParams& params,
                                             const CompileLimits& limits);

}  // namespace quire
