// The measurements of `quire bench`, one a kind.
#pragma once

#include <string>

#include "apps/quire/command.h"
#include "apps/quire/flags.h"
#include "apps/quire/terminal.h"
#include "base/status.h"
#include "formats/json.h"

namespace quire {

Status RunBenchKernels(Args args);
Status RunBenchLatency(Args args);
Status RunBenchMachine(Args args);
Status RunBenchReplay(Args args);
Status RunBenchStep(Args args);
Status RunBenchThroughput(Args args);

// Where a measurement goes.
struct BenchOutput {
  bool json = false;        // the object on standard output instead of the text
  std::string output_json;  // a file for the object too; empty: none
};

void AddOutputFlags(FlagSet& flags, BenchOutput& output);
Status WriteBenchResult(const BenchOutput& output, const std::string& text, const Json& result);

}  // namespace quire
