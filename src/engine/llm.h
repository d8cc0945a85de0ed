// The engine in one process, driven by its caller: what the command line and embedding programs
// use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/core.h"
#include "engine/prompt.h"
#include "engine/sizing.h"
#include "exec/executor.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// How far a call of Generate has come.
struct GenerateProgress {
  std::size_t num_finished = 0;  // prompts
  std::int64_t num_generated_tokens = 0;
};

// Owns model, scheduler and tokenizer. One thread at a time; Abort and the progress callback come
// from that thread too.
class Llm {
 public:
  // `config.model.model` is a located path. `progress` may be empty.
  static Result<std::unique_ptr<Llm>> Create(const EngineConfig& config,
                                             const LoadProgress& progress);
  // The same over an executor that is there already, a scripted one for example. `tokenizer` may be
  // null.
  static Result<std::unique_ptr<Llm>> CreateOver(const EngineConfig& config,
                                                 std::unique_ptr<Executor> executor,
                                                 std::shared_ptr<const Tokenizer> tokenizer);
  ~Llm();
  Llm(const Llm&) = delete;
  Llm& operator=(const Llm&) = delete;

  const ModelFacts& facts() const;
  const EngineDecisions& decisions() const;
  // A model folder without a tokenizer is served all the same, by token ids alone.
  bool has_tokenizer() const;
  const Tokenizer& tokenizer() const;  // only when has_tokenizer()
  // What a request starts from: vLLM's defaults with the model's own over them. Putting a caller's
  // fields on top is the caller's work.
  const SamplingParams& sampling_defaults() const;
  // Tokens that end an answer, by all of the model's files.
  const std::vector<TokenId>& eos_token_ids() const;
  SchedulerStats stats() const;
  const StepTiming& last_timing() const;
  std::int64_t num_generated_tokens() const;  // since the engine began

  // Queues a prompt under `request_id` (unique among live ones). kInvalidArgument names the field:
  // an empty prompt, one that leaves no room in the context, ids out of range, bad parameters.
  // kResourceExhausted: too many requests wait.
  Status Submit(const std::string& request_id, PromptInput input);

  // Ends a request; its final output, if it was alive, comes with the next Step.
  void Abort(const std::string& request_id);

  bool has_unfinished() const;

  // One step: what came out of it, one output a prompt that has something to say (OutputKind):
  //   kDelta       the answers that have news, with what is new; the prompt's ids once only
  //   kCumulative  all n answers so far
  //   kFinalOnly   all n answers when the last one is done
  // A Status that is not ok: the engine cannot go on, and every live request has failed with it.
  Status Step(std::vector<RequestOutput>& outputs);

  // Submits all prompts, steps until they are done and gives their final outputs in order; a
  // prompt that is refused gives an output with `error`. `on_step` may be empty. Prompts submitted
  // before go on beside them, and their outputs are lost.
  std::vector<RequestOutput> Generate(std::vector<PromptInput> prompts,
                                      const std::function<void()>& on_step);
  // The same, with numbers for a progress bar.
  std::vector<RequestOutput> GenerateWith(
      std::vector<PromptInput> prompts,
      const std::function<void(const GenerateProgress&)>& on_step);

  // Raw logits of every position of one sequence, computed alone: `consume` gets one row of [vocab]
  // after another. At most max_model_len ids. What runs meanwhile is not disturbed.
  Status EvaluateLogits(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t row, std::span<const float>)>& consume);

 private:
  struct State;
  explicit Llm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
