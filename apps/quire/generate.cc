// quire generate: continues prompts, raw, without a template.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/quire/command.h"
#include "apps/quire/constraint_flags.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/generate_run.h"
#include "apps/quire/interrupt.h"
#include "apps/quire/io.h"
#include "apps/quire/prompts.h"
#include "base/strings.h"

namespace quire {

namespace {

struct GenerateOptions {
  EngineConfig config;
  SamplingFlags sampling;
  std::optional<std::string> prompt;
  std::optional<std::string> file;
  std::optional<std::string> prompts;
  std::optional<std::int64_t> num_prompts;
  bool add_special_tokens = true;
  bool json = false;
  bool quiet = false;
  ConstraintFlags constraint;
};

FlagSet MakeFlags(GenerateOptions& options) {
  FlagSet flags("generate [MODEL] (-p TEXT | -f FILE | - | --prompts FILE) [flags]",
                "Continues a prompt. The model is given the text as it is, without a chat "
                "template. Standard output holds generated text only, as it comes; all else goes "
                "to standard error.");
  flags.Group("Prompt");
  flags.Add("prompt,p", options.prompt, "The prompt");
  flags.Add("file,f", options.file,
            "File with the prompt, taken whole; - or a lone - is standard input", "FILE");
  flags.Add("prompts", options.prompts,
            "File of many prompts, one JSON object a line: {\"prompt\": TEXT} or {\"ids\": "
            "[…]}, with sampling parameters of its own beside it (\"temperature\": 0). Answers "
            "come in the same order",
            "FILE");
  flags.Add("num-prompts", options.num_prompts, "Only the first N of --prompts");
  flags.Add("add-special-tokens", options.add_special_tokens,
            "Add what the model puts around a text, such as BOS");
  flags.Group("Output");
  flags.Add("json", options.json,
            "One JSON object a prompt and line: text, token_ids, finish_reason, stop_reason, "
            "logprobs, prompt_logprobs, usage, timings; with n > 1 also outputs, one an answer");
  flags.Add("quiet,q", options.quiet, "No lines about the KV cache and the speed");
  // No chat, so no reasoning that could be told from the rest of the answer.
  options.sampling.AddTo(flags, "thinking_token_budget");
  options.constraint.AddTo(flags);
  AddEngineFlags(flags, options.config);
  flags.AddExample("quire generate -p \"Once upon a time\" --max-tokens 64");
  flags.AddExample("quire generate ./my-model -f prompt.txt --temperature 0 --json");
  flags.AddExample("quire generate --prompts prompts.jsonl --json > answers.jsonl");
  return flags;
}

// MODEL and "-", in any order.
Status TakePositionals(const FlagSet& flags, GenerateOptions& options) {
  std::optional<std::string> model;
  for (const std::string& text : flags.positionals()) {
    if (text == "-" && !options.file) {
      options.file = "-";
    } else if (text != "-" && !model) {
      model = text;
    } else {
      return InvalidArgument(StrCat("one argument too many: ", Printable(text),
                                    "; the prompt goes after -p, in quotes"));
    }
  }
  return model ? TakeModel(flags, *model, options.config) : Status();
}

Result<std::vector<Prompt>> GatherPrompts(const GenerateOptions& options) {
  const int num_sources =
      (options.prompt ? 1 : 0) + (options.file ? 1 : 0) + (options.prompts ? 1 : 0);
  if (num_sources == 0) {
    return InvalidArgument(
        "no prompt: give -p TEXT, -f FILE, --prompts FILE, or - for standard input");
  }
  if (num_sources > 1) {
    return InvalidArgument("more than one prompt: -p, -f, --prompts and - exclude each other");
  }
  if (options.num_prompts && (!options.prompts || *options.num_prompts < 1)) {
    return InvalidArgument("--num-prompts: goes with --prompts and is at least 1");
  }
  if (options.prompts) {
    return ReadPrompts(*options.prompts, options.num_prompts, options.add_special_tokens);
  }
  Prompt prompt;
  prompt.add_special_tokens = options.add_special_tokens;
  if (options.prompt) {
    prompt.text = *options.prompt;
  } else {
    QUIRE_ASSIGN_OR_RETURN(prompt.text, ReadInput(*options.file));
  }
  std::vector<Prompt> prompts;
  prompts.push_back(std::move(prompt));
  return prompts;
}

}  // namespace

Status RunGenerate(Args args) {
  GenerateOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakePositionals(flags, options));
  QUIRE_ASSIGN_OR_RETURN(const std::vector<Prompt> prompts, GatherPrompts(options));
  QUIRE_ASSIGN_OR_RETURN(const auto constraint, options.constraint.Params());
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  SamplingParams defaults = llm->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(options.sampling.Apply(defaults));
  defaults.structured_outputs = constraint;
  const InterruptScope interrupts;
  GenerateRun run(*llm, defaults, {.json = options.json, .quiet = options.quiet});
  return run.Run(prompts);
}

}  // namespace quire
