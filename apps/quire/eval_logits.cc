// quire eval logits: the logits of token sequences, into a safetensors file.
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
#include "apps/quire/json_lines.h"
#include "apps/quire/tensor_file.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"
#include "config/field_value.h"
#include "engine/llm.h"
#include "formats/json.h"

namespace quire {

namespace {

struct LogitsOptions {
  EngineConfig config;
  std::string output;
};

using Sequences = std::vector<std::vector<TokenId>>;

FlagSet MakeFlags(LogitsOptions& options) {
  FlagSet flags("eval logits [MODEL] --output FILE [flags]",
                "Reads lines {\"ids\": [...]} from standard input and writes one safetensors file: "
                "the logits of line N, counted from 0, are the tensor logits.N, [tokens, "
                "vocabulary] in F32. Each sequence is computed alone, in float32 unless "
                "--compute-dtype auto asks for what the engine computes otherwise.");
  flags.Group("Measure");
  flags.Add("output,o", options.output, "The file to write; it has its name once it is whole",
            "FILE");
  AddEvalFlags(flags, options.config);
  flags.AddExample("echo '{\"ids\": [1, 2, 3]}' | quire eval logits ./my-model -o out.safetensors");
  return flags;
}

Result<std::vector<TokenId>> IdsOf(const Json& line) {
  const Json* list = line.Find("ids");
  if (list == nullptr) {
    return InvalidArgument(line.is_object()
                               ? std::string("ids: is missing")
                               : StrCat("must be an object {\"ids\": [...]}, got ", line.kind()));
  }
  std::vector<TokenId> ids;
  if (!list->is_array()) {
    return InvalidArgument(StrCat("ids: must be an array of integers, got ", list->kind()));
  }
  if (const Status read = FieldFromJson(*list, ids); !read.ok()) return read.With("ids");
  if (ids.empty()) return InvalidArgument("ids: must not be empty");
  return ids;
}

// All lines of standard input; empty ones only at the end.
Result<Sequences> ReadSequences() {
  LineReader reader(STDIN_FILENO);
  Sequences sequences;
  for (;;) {
    QUIRE_ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
    if (!line) break;
    sequences.emplace_back();
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto number = static_cast<std::int64_t>(sequences.size());
    QUIRE_ASSIGN_OR_RETURN(const Json json, ParseJsonLine(*line, number));
    Result<std::vector<TokenId>> ids = IdsOf(json);
    if (!ids.ok()) return ids.status().With(StrCat("line ", number));
    sequences.back() = *std::move(ids);
  }
  while (!sequences.empty() && sequences.back().empty()) sequences.pop_back();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].empty()) return InvalidArgument(StrCat("line ", i + 1, ": is empty"));
  }
  if (sequences.empty()) return InvalidArgument("standard input has no line {\"ids\": [...]}");
  return sequences;
}

// Before anything is written: what the model cannot take.
Status CheckSequences(const Sequences& sequences, const Llm& llm) {
  const std::int64_t vocab = llm.facts().vocab_size;
  const auto context = static_cast<std::size_t>(llm.decisions().plan.max_model_len);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::string place = StrCat("line ", i + 1, ": ids: ");
    if (sequences[i].size() > context) {
      return InvalidArgument(
          StrCat(place, sequences[i].size(), " tokens, but the model takes ", context));
    }
    for (const TokenId id : sequences[i]) {
      if (id >= 0 && id < vocab) continue;
      return InvalidArgument(
          StrCat(place, "must be in [0, ", vocab, "), the vocabulary, got ", id));
    }
  }
  return {};
}

Status WriteLogits(Llm& llm, const Sequences& sequences, TensorFileWriter& file) {
  ProgressLine progress(std::chrono::seconds(1));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (IsInterrupted()) return Status(Code::kCancelled, "");
    progress.Show(ProgressBar(
        "lines", static_cast<double>(i) / static_cast<double>(sequences.size()), StrCat(i)));
    Status written;
    const Status computed =
        llm.EvaluateLogits(sequences[i], [&](std::int64_t, std::span<const float> row) {
          if (written.ok()) written = file.WriteRow(row);
        });
    QUIRE_RETURN_IF_ERROR(computed.With(StrCat("line ", i + 1)));
    QUIRE_RETURN_IF_ERROR(written);
  }
  return file.Commit();
}

}  // namespace

Status RunEvalLogits(Args args) {
  LogitsOptions options;
  // Logits are compared with those of other programs, which compute in float32.
  options.config.model.compute_dtype = ComputeDtype::kFloat32;
  FlagSet flags = MakeFlags(options);
  QUIRE_ASSIGN_OR_RETURN(const bool go_on, flags.Parse(args));
  if (!go_on) return {};
  QUIRE_RETURN_IF_ERROR(TakeOnlyModel(flags, options.config));
  if (options.output.empty()) return InvalidArgument("--output: a file name is missing");
  if (options.output == "-") {
    return InvalidArgument("--output: must be a file, got - (the logits are no text to print)");
  }
  QUIRE_ASSIGN_OR_RETURN(const Sequences sequences, ReadSequences());
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<Llm> llm, LoadLlm(options.config));
  QUIRE_RETURN_IF_ERROR(CheckSequences(sequences, *llm));
  std::vector<MatrixInfo> matrices;
  for (const std::vector<TokenId>& ids : sequences) {
    matrices.push_back({.name = StrCat("logits.", matrices.size()),
                        .rows = static_cast<std::int64_t>(ids.size()),
                        .columns = llm->facts().vocab_size});
  }
  const InterruptScope interrupts;
  QUIRE_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFileWriter> file,
                         TensorFileWriter::Create(options.output, matrices));
  Tell(llm->decisions().summary);
  return WriteLogits(*llm, sequences, *file);
}

}  // namespace quire
