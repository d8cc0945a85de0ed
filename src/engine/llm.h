// The engine in one process, driven by its caller: what the command line and embedding programs
// use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// One prompt: text, or ids that are taken as they are.
struct PromptInput {
  std::string text;
  std::optional<std::vector<TokenId>> token_ids;
  bool add_special_tokens = true;
  SamplingParams sampling;
  int priority = 0;
  std::string cache_salt;
};

// How the engine was sized, with the reason of each decision, for a person to read.
struct EngineDecisions {
  KvCachePlan plan;
  std::vector<std::string> reasons;  // "KV cache: 2048 blocks of 16 tokens (…): …"
};

// Owns model, scheduler and tokenizer. One thread at a time; Abort and the progress callback come
// from that thread too.
class Llm {
 public:
  // `config.model.model` is a located path. `progress` may be empty.
  static Result<std::unique_ptr<Llm>> Create(const EngineConfig& config,
                                             const LoadProgress& progress);
  ~Llm();
  Llm(const Llm&) = delete;
  Llm& operator=(const Llm&) = delete;

  const ModelFacts& facts() const;
  const EngineDecisions& decisions() const;
  const Tokenizer& tokenizer() const;
  // The model's generation defaults put under fields that the caller did not set are the caller's
  // work: SamplingDefaults() is what a request starts from.
  const SamplingParams& sampling_defaults() const;
  SchedulerStats stats() const;

  // Queues a prompt under `request_id` (unique among live ones). kInvalidArgument names the field:
  // an empty prompt, one that leaves no room in the context, ids out of range, bad parameters.
  Status Submit(std::string request_id, PromptInput input);

  // Ends a request; its final output, if it was alive, comes with the next Step.
  void Abort(const std::string& request_id);

  bool has_unfinished() const;

  // One step: what came out of it, one output a request that has something to say (OutputKind). The
  // Status is not ok when the engine cannot go on; every live request has then failed with it.
  Status Step(std::vector<RequestOutput>& outputs);

  // Submits all prompts, steps until they are done and gives their final outputs in order; a
  // prompt that is refused gives an output with `error`. `on_step` may be empty.
  std::vector<RequestOutput> Generate(std::vector<PromptInput> prompts,
                                      const std::function<void()>& on_step);

 private:
  struct State;
  explicit Llm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
