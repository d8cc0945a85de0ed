// quire bench: measures the engine; a subcommand a kind of measurement.
#include "apps/quire/bench.h"

#include <array>
#include <optional>
#include <vector>

#include "apps/quire/io.h"
#include "base/strings.h"
#include "platform/mapped_file.h"

namespace quire {

namespace {

constexpr std::array kKinds = {
    Command{"machine", "what this machine can do at most: memory, arithmetic", RunBenchMachine},
    Command{"kernels", "each operator alone, as a share of those limits", RunBenchKernels},
    Command{"latency", "one batch of prompts: time to the answer, prefill and decode rates",
            RunBenchLatency},
    Command{"throughput", "many prompts offline: requests and tokens a second", RunBenchThroughput},
    Command{"step", "the control plane alone: microseconds of a step", RunBenchStep},
    Command{"replay", "a trace of arrivals through the scheduler, without a model", RunBenchReplay},
};

std::string Overview() {
  std::string out =
      "Usage: quire bench KIND [MODEL] [flags]\n\nMeasures the engine on this machine.\n\nKinds:\n";
  for (const Command& kind : kKinds) {
    out += StrCat("  ", kind.name, std::string(12 - kind.name.size(), ' '), kind.summary, "\n");
  }
  return out + "\n`quire bench KIND --help` lists the flags of a kind.\n";
}

}  // namespace

void AddOutputFlags(FlagSet& flags, BenchOutput& output) {
  flags.Group("Output");
  flags.Add("json", output.json, "The result as one JSON object on standard output");
  flags.Add("output-json", output.output_json, "Write that object to a file too", "FILE");
}

Status WriteBenchResult(const BenchOutput& output, const std::string& text, const Json& result) {
  if (!output.output_json.empty()) {
    QUIRE_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(output.output_json));
    Writer out(file.fd(), Printable(output.output_json));
    QUIRE_RETURN_IF_ERROR(out.WriteNow(result.Dump(2) + "\n"));
    QUIRE_RETURN_IF_ERROR(file.Commit());
  }
  return PrintToStdout(output.json ? result.Dump() + "\n" : text);
}

Status RunBench(Args args) {
  if (args.empty()) {
    return InvalidArgument("bench: say what to measure; quire bench --help lists it");
  }
  if (args[0] == "--help" || args[0] == "-h") return PrintToStdout(Overview());
  std::vector<std::string> names;
  for (const Command& kind : kKinds) {
    if (kind.name == args[0]) return kind.run(args.subspan(1));
    names.emplace_back(kind.name);
  }
  const std::optional<std::string> nearest = NearestName(args[0], names);
  return InvalidArgument(StrCat("bench: there is no measurement ", Printable(args[0]), "; ",
                                nearest ? StrCat("did you mean ", *nearest, "?")
                                        : std::string("quire bench --help lists them")));
}

}  // namespace quire
