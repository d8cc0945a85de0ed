// quire structured: constraints without a model.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

#include "apps/quire/command.h"
#include "apps/quire/constraint_flags.h"
#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/io.h"
#include "apps/quire/tokenizer_source.h"
#include "base/strings.h"
#include "formats/json.h"
#include "structured/backend.h"
#include "structured/check.h"
#include "structured/compile.h"
#include "structured/constraint.h"

namespace quire {
namespace {

struct CheckOptions {
  std::string model;
  std::string file = "-";
  bool json = false;
  bool show_grammar = false;
  EngineConfig engine;  // of which one option counts
  ConstraintFlags constraint;
};

FlagSet MakeFlags(CheckOptions& options) {
  FlagSet flags("structured check [MODEL] CONSTRAINT [flags]",
                "Reads texts, one JSON string a line, and tells of each whether the constraint "
                "accepts it, refuses it (at which byte), or whether it is incomplete. The texts "
                "go token by token through the matcher and the masks that generation uses; of "
                "MODEL only the tokenizer is needed.");
  flags.Add("model,m", options.model, "The model, as MODEL", "MODEL");
  flags.Add("file,f", options.file, "Read the texts from this file; -: standard input", "FILE");
  flags.Add("json", options.json, "Answer each line with a JSON object");
  flags.Add("show_grammar", options.show_grammar, "Print the grammar and stop");
  options.constraint.AddTo(flags);
  constexpr std::string_view kEngineOptions[] = {"grammar-compile-timeout"};
  AddEngineFlags(flags, options.engine, kEngineOptions);
  flags.AddExample("echo '\"{}\"' | quire structured check --json-schema schema.json");
  return flags;
}

std::string Describe(const CheckedText& checked, bool as_json) {
  constexpr const char* kNames[] = {"accepted", "refused", "incomplete"};
  const char* name = kNames[static_cast<int>(checked.verdict)];
  if (as_json) {
    return Json(JsonObject{{"result", name}, {"at", static_cast<std::int64_t>(checked.at)}}).Dump();
  }
  const bool has_place = checked.verdict == CheckedText::Verdict::kRefused;
  return has_place ? StrCat(name, " at byte ", checked.at) : name;
}

// A text, from a line that holds it as a JSON string.
Result<std::string> TextOf(const std::string& line) {
  QUIRE_ASSIGN_OR_RETURN(const Json text, ParseJson(line));
  if (!text.is_string()) return InvalidArgument(StrCat("must be a JSON string, got ", text.kind()));
  return text.string();
}

Status CheckLines(const GrammarBackend& backend, const CompiledGrammar& grammar,
                  const ConstraintVocabulary& vocab, const Tokenizer& tokenizer,
                  const CheckOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(options.file));
  LineReader reader(file.fd());
  Writer out(STDOUT_FILENO, "standard output");
  for (std::int64_t number = 1;; ++number) {
    if (!reader.has_line()) QUIRE_RETURN_IF_ERROR(out.Flush());
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
    if (!line) break;
    const Result<std::string> text = TextOf(*line);
    if (!text.ok()) {
      QUIRE_RETURN_IF_ERROR(out.Flush());
      return text.status().With(StrCat("line ", number));
    }
    const CheckedText checked = CheckText(backend, grammar, vocab, tokenizer, *text);
    QUIRE_RETURN_IF_ERROR(out.Write(Describe(checked, options.json) + "\n"));
  }
  return out.Flush();
}

Status RunCheck(Args args) {
  CheckOptions options;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  if (flags.positionals().size() > 1) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(flags.positionals()[1])));
  }
  if (!flags.positionals().empty()) options.model = flags.positionals()[0];
  QUIRE_ASSIGN_OR_RETURN(const auto params, options.constraint.Params());
  if (params == nullptr) {
    return InvalidArgument("a constraint is missing: --json-schema FILE, --regex REGEX, …");
  }
  QUIRE_RETURN_IF_ERROR(options.engine.structured.Validate());
  if (options.show_grammar) {
    QUIRE_ASSIGN_OR_RETURN(const std::string ebnf, GrammarOf(*params));
    return PrintToStdout(ebnf);
  }
  const auto found = TokenizerOf(options.model);
  if (!found.ok()) {
    QUIRE_RETURN_IF_ERROR(GrammarOf(*params).status());  // what is wrong with it needs no model
    return found.status();
  }
  const auto& tokenizer = *found;
  const ConstraintVocabulary vocab =
      MakeConstraintVocabulary(*tokenizer, tokenizer->vocab_size(), tokenizer->eos_ids());
  QUIRE_ASSIGN_OR_RETURN(const auto backend, CreateXgrammarBackend(vocab));
  QUIRE_ASSIGN_OR_RETURN(
      const CompiledConstraint made,
      CompileConstraint(*backend, *params,
                        {.time = std::chrono::duration<double>(
                             options.engine.structured.grammar_compile_timeout)}));
  return CheckLines(*backend, *made.grammar, vocab, *tokenizer, options);
}

}  // namespace

Status RunStructured(Args args) {
  if (!args.empty() && args[0] == "check") return RunCheck(args.subspan(1));
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    return PrintToStdout(
        "Usage: quire structured check [MODEL] CONSTRAINT [flags]\n\n"
        "check    tell which texts a constraint accepts; quire structured check --help\n");
  }
  return InvalidArgument(
      StrCat("structured: unknown action ", Printable(args[0]), "; there is check"));
}

}  // namespace quire
