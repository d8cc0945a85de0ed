// quire eval: what a model's own numbers are.
#include "apps/quire/eval.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "apps/quire/command.h"
#include "apps/quire/io.h"
#include "base/strings.h"

namespace quire {

namespace {

constexpr std::array kMeasures = {
    Command{"perplexity", "how well a model predicts a text", RunEvalPerplexity},
    Command{"logits", "the logits of token sequences, into a safetensors file", RunEvalLogits},
};

std::string Overview() {
  std::string out = "Usage: quire eval MEASURE [MODEL] [flags]\n\nMeasures:\n";
  for (const Command& measure : kMeasures) {
    out += StrCat("  ", measure.name, std::string(14 - measure.name.size(), ' '), measure.summary,
                  "\n");
  }
  return out + "\n`quire eval MEASURE --help` lists the flags of a measure.\n";
}

}  // namespace

Status RunEval(Args args) {
  if (args.empty()) {
    return InvalidArgument("eval: what to measure is missing, perplexity or logits");
  }
  if (args[0] == "--help" || args[0] == "-h") return PrintToStdout(Overview());
  std::vector<std::string> names;
  for (const Command& measure : kMeasures) {
    if (measure.name == args[0]) return measure.run(args.subspan(1));
    names.emplace_back(measure.name);
  }
  const std::optional<std::string> nearest = NearestName(args[0], names);
  return InvalidArgument(StrCat("eval: unknown measure ", Printable(args[0]), "; ",
                                nearest ? StrCat("did you mean ", *nearest, "?")
                                        : std::string("there are perplexity and logits")));
}

}  // namespace quire
