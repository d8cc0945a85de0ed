// quire eval perplexity: how well a model predicts a text.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "apps/quire/engine_flags.h"
#include "apps/quire/eval.h"
#include "apps/quire/interrupt.h"
#include "apps/quire/io.h"
#include "apps/quire/perplexity.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"
#include "engine/llm.h"

namespace quire {

namespace {

struct PerplexityOptions {
  EngineConfig config;
  std::optional<std::string> file;
  int window = 512;
  std::optional<std::int64_t> max_windows;
  bool add_special_tokens = false;
  bool json = false;
};

FlagSet MakeFlags(PerplexityOptions& options) {
  FlagSet flags("eval perplexity [MODEL] FILE [flags]",
                "Cuts the text of FILE (- is standard input) into windows, computes each alone and "
                "gives the perplexity of its tokens: of all but each window's first, and of those "
                "in the second half of each window, which is what llama-perplexity counts. Tokens "
                "after the last whole window are dropped.");
  flags.Group("Measure");
  flags.Add("file,f", options.file, "The text, in place of FILE", "FILE");
  flags.Add("window", options.window, "Tokens a window");
  flags.Add("max-windows", options.max_windows, "Only the first N windows");
  flags.Add("add-special-tokens", options.add_special_tokens,
            "Add what the model puts around a text, such as BOS");
  flags.Add("json", options.json, "One JSON object instead of text");
  AddEvalFlags(flags, options.config);
  flags.AddExample("quire eval perplexity ./my-model wiki.test.raw --compute-dtype float32");
  return flags;
}

struct WindowLikelihood {
  double nll_all = 0.0;
  double nll_second_half = 0.0;
};

struct PerplexityResult {
  PerplexitySum all;
  PerplexitySum second_half;
  std::vector<WindowLikelihood> windows;
  std::size_t num_tokens = 0;  // of the text
};

std::string WithError(const PerplexitySum& sum) {
  return StrCat(Fixed(sum.perplexity(), 4), " ± ", Fixed(sum.error(), 4));
}

// Row i of a window's logits says how likely token i + 1 was.
Status MeasureWindow(Llm& llm, std::span<const TokenId> ids, PerplexityResult& result) {
  WindowLikelihood window;
  const auto half = static_cast<std::int64_t>(ids.size()) / 2;
  const auto last = static_cast<std::int64_t>(ids.size()) - 1;
  Status status = llm.EvaluateLogits(ids, [&](std::int64_t row, std::span<const float> logits) {
    if (row == last) return;
    const double nll = NegativeLogLikelihood(logits, ids[static_cast<std::size_t>(row) + 1]);
    result.all.Add(nll);
    window.nll_all += nll;
    if (row < half) return;
    result.second_half.Add(nll);
    window.nll_second_half += nll;
  });
  result.windows.push_back(window);
  return status;
}

Result<PerplexityResult> Measure(Llm& llm, const std::vector<TokenId>& ids,
                                 const PerplexityOptions& options) {
  const auto window = static_cast<std::size_t>(options.window);
  std::size_t num_windows = ids.size() / window;
  if (options.max_windows) {
    num_windows = std::min(num_windows, static_cast<std::size_t>(*options.max_windows));
  }
  PerplexityResult result;
  result.num_tokens = ids.size();
  ProgressLine progress;
  for (std::size_t i = 0; i < num_windows; ++i) {
    if (IsInterrupted()) return Status(Code::kCancelled, "");
    QUIRE_RETURN_IF_ERROR(MeasureWindow(llm, std::span(ids).subspan(i * window, window), result));
    progress.Show(ProgressBar("windows",
                              static_cast<double>(i + 1) / static_cast<double>(num_windows),
                              StrCat("perplexity ", WithError(result.all))));
  }
  return result;
}

Status Report(const PerplexityResult& result, const PerplexityOptions& options) {
  if (!options.json) {
    return PrintToStdout(StrCat("perplexity              ", WithError(result.all), "  (",
                                result.all.count(), " tokens)\nperplexity, second half ",
                                WithError(result.second_half), "  (", result.second_half.count(),
                                " tokens)\n", result.windows.size(), " windows of ", options.window,
                                " tokens; the text has ", result.num_tokens, " tokens\n"));
  }
  JsonArray windows;
  for (const WindowLikelihood& window : result.windows) {
    windows.emplace_back(
        JsonObject{{"nll_all", window.nll_all}, {"nll_second_half", window.nll_second_half}});
  }
  const Json json(JsonObject{{"ppl_all", result.all.perplexity()},
                             {"ppl_all_error", result.all.error()},
                             {"ppl_second_half", result.second_half.perplexity()},
                             {"ppl_second_half_error", result.second_half.error()},
                             {"nll_all", result.all.nll()},
                             {"nll_second_half", result.second_half.nll()},
                             {"num_tokens_all", result.all.count()},
                             {"num_tokens_second_half", result.second_half.count()},
                             {"num_tokens", static_cast<std::int64_t>(result.num_tokens)},
                             {"window", options.window},
                             {"windows", std::move(windows)}});
  return PrintToStdout(json.Dump() + "\n");
}

// "FILE" or "MODEL FILE"
Status TakePositionals(const FlagSet& flags, PerplexityOptions& options) {
  std::vector<std::string> rest = flags.positionals();
  if (!options.file && !rest.empty()) {
    options.file = rest.back();
    rest.pop_back();
  }
  if (!options.file) return InvalidArgument("no text: give FILE, or - for standard input");
  if (rest.size() > 1) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(rest[1])));
  }
  return rest.empty() ? Status() : TakeModel(flags, rest[0], options.config);
}

}  // namespace

void AddEvalFlags(FlagSet& flags, EngineConfig& config) {
  constexpr std::string_view kNames[] = {
      "model",        "tokenizer", "dtype",        "compute-dtype",     "max-model-len",
      "hf-overrides", "mmap",      "mlock",        "kv-cache-dtype",    "max-num-batched-tokens",
      "threads",      "pin",       "packed-cache", "packed-cache-bytes"};
  AddEngineFlags(flags, config, kNames);
}

Status RunEvalPerplexity(Args args) {
  PerplexityOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakePositionals(flags, options));
  if (options.window < 2) {
    return InvalidArgument(StrCat("--window: must be at least 2, got ", options.window));
  }
  if (options.max_windows && *options.max_windows < 1) {
    return InvalidArgument(StrCat("--max-windows: must be at least 1, got ", *options.max_windows));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadInput(*options.file, kMaxTextBytes));
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  if (!llm->has_tokenizer()) return InvalidArgument("the model has no tokenizer");
  const std::int64_t context = llm->decisions().plan.max_model_len;
  if (options.window > context) {
    return InvalidArgument(StrCat("--window: must be at most the context of ", context,
                                  " tokens, got ", options.window));
  }
  QUIRE_ASSIGN_OR_RETURN(
      const std::vector<TokenId> ids,
      llm->tokenizer().Encode(
          text, {.add_special_tokens = options.add_special_tokens, .parse_special = true}));
  if (ids.size() < static_cast<std::size_t>(options.window)) {
    return InvalidArgument(
        StrCat("the text has ", ids.size(), " tokens, fewer than one window of ", options.window));
  }
  Tell(llm->decisions().summary);
  const InterruptScope interrupts;
  QUIRE_ASSIGN_OR_RETURN(const PerplexityResult result, Measure(*llm, ids, options));
  return Report(result, options);
}

}  // namespace quire
