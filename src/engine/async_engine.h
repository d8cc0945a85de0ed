// The engine on threads of its own: submit from anywhere, hear outputs as they come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_facts.h"
#include "engine/core.h"
#include "engine/engine_metrics.h"
#include "engine/prompt.h"
#include "engine/sizing.h"
#include "exec/executor.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// What the engine is doing, as of its last step.
struct EngineStats {
  SchedulerStats scheduler;
  StepTiming timing;
  std::int64_t num_steps = 0;
  std::int64_t num_computed_tokens = 0;   // those of preempted requests again
  std::int64_t num_generated_tokens = 0;  // given out
  std::int64_t num_finished = 0;          // answers that ended by themselves
  std::int64_t num_aborted = 0;
  std::int64_t num_failed = 0;
  int num_restarts = 0;
};

struct AsyncOptions {
  int input_threads = 1;          // that check and tokenize prompts; one more reads long texts
  std::size_t max_queued = 1024;  // prompts on their way to the scheduler before one is refused
  std::string served_name;        // of the model, as metrics show it; empty: its path
  std::chrono::seconds log_interval{0};  // between lines that say what is done; 0: none
  int max_restarts = 3;                  // after steps that failed one soon after the other
  std::size_t num_traces = 1024;         // of the last requests, kept in metrics().traces()
  // Hears of each prompt once it is read, on an input thread; may be empty.
  std::function<void(const std::string& request_id, const EngineRequest& request)> on_prompt;
  // Hears of each output before the prompt's own sink does, on the output thread; may be empty.
  std::function<void(const RequestOutput& output)> on_output;
};

// Threads: callers -> input threads (check, tokenize) -> engine thread (schedule, compute) ->
// output thread (text, stop strings, sinks). Between them are bounded queues; a slow output thread
// makes the engine wait, a slow client is its sink's affair.
class AsyncEngine {
 public:
  static Result<std::unique_ptr<AsyncEngine>> Create(const EngineConfig& config,
                                                     const AsyncOptions& options,
                                                     const LoadProgress& progress);
  // The same over an executor that `make_executor` gives on the engine thread; `tokenizer` may be
  // null.
  using ExecutorFactory = std::function<Result<std::unique_ptr<Executor>>()>;
  static Result<std::unique_ptr<AsyncEngine>> CreateOver(
      const EngineConfig& config, const AsyncOptions& options, const ExecutorFactory& make_executor,
      std::shared_ptr<const Tokenizer> tokenizer);

  // Shutdown(0).
  ~AsyncEngine();
  AsyncEngine(const AsyncEngine&) = delete;
  AsyncEngine& operator=(const AsyncEngine&) = delete;

  const ModelFacts& facts() const;
  const EngineDecisions& decisions() const;
  bool has_tokenizer() const;
  const Tokenizer& tokenizer() const;  // only when has_tokenizer()
  const SamplingParams& sampling_defaults() const;
  const std::vector<TokenId>& eos_token_ids()
      const;  // that end an answer, by all of the model's files

  // Hands a prompt to the engine. Any thread; never blocks.
  //
  //   kInvalidArgument    `request_id` belongs to a request that still runs
  //   kResourceExhausted  max_queued prompts are on their way; the same call may pass later
  //   kUnavailable        the engine is shutting down or has failed; the message says why
  //
  // On ok, `sink` hears outputs until one has is_finished set, which always comes. A prompt that
  // cannot be served (too long, bad parameters, too many waiting) ends with `error` in it.
  Status Submit(std::string request_id, PromptInput input, OutputSink sink);

  // Ends a prompt in whatever state it is; its last output has FinishReason::kAbort. Unknown ids
  // are passed over. Any thread.
  void Abort(const std::string& request_id);

  // Ends every prompt that a caller named so (LivePrompts::AbortNamed); gives how many. Any thread.
  int AbortNamed(const std::string& name, bool with_namesakes);

  // Waits until every prompt submitted has been heard to its end. Any thread but the output thread.
  void Drain();

  // Refuses new prompts from now on, lets those under way finish for up to `grace`, and ends the
  // rest with kUnavailable; then all threads have ended. Any thread but the output thread, once.
  void Shutdown(std::chrono::milliseconds grace);

  // Hears what came of a call, once: on the output thread, after all outputs of the steps before
  // the call; or at once, on the caller's thread, with kUnavailable where the engine has stopped
  // and kResourceExhausted where too many calls wait.
  using CallOutcome = std::function<void(Status outcome)>;

  // After the step under way no more steps are computed until Resume. Prompts can still be
  // submitted, and wait; aborts are obeyed. Any thread; never blocks, like the calls below.
  void Pause(PauseMode mode, CallOutcome done);
  void Resume(CallOutcome done);
  bool is_paused() const;

  // Whether a prompt submitted now would be served, sooner or later: not while the engine starts
  // again after a failed step, and not once it has failed for good or is shut down.
  //
  // When a step fails every prompt that has begun ends with the error; then the engine starts again
  // in place, the model still loaded, and serves those that come.
  bool is_healthy() const;

  // Forgets every cached prefix. kFailedPrecondition, and nothing is done, while requests hold KV
  // blocks; with `preempt_running` they give them back first and are computed again.
  void ResetPrefixCache(bool preempt_running, CallOutcome done);

  EngineMetrics& metrics();

  EngineStats stats() const;
  // Prompts submitted whose last output has not been heard yet.
  std::size_t num_live() const;

 private:
  struct State;
  explicit AsyncEngine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
