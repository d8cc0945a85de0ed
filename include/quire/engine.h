// The engine for programs that embed it: LLM answers batches and waits, AsyncEngine streams.
//
//   auto llm = quire::api::LLM::Create("model.gguf");
//   if (!llm.ok()) …
//   auto outputs = llm->Generate({"The capital of France is"}, Options().Set("max_tokens", 32));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quire/config.h"
#include "quire/request.h"
#include "quire/status.h"

namespace quire::api {

// "0.1.0"
const char* Version();

// How far a batch has come.
struct Progress {
  int num_finished = 0;
  int num_prompts = 0;
  int num_running = 0;
  int num_waiting = 0;
  double kv_cache_usage = 0.0;  // share of the KV blocks in use
  std::int64_t num_generated_tokens = 0;
};
using ProgressCallback = std::function<void(const Progress&)>;

// Owns a model. One thread at a time.
class LLM {
 public:
  // `model` is a Hugging Face folder or a GGUF file.
  static Result<LLM> Create(const std::string& model, const Options& options = {});
  LLM(LLM&&) noexcept;
  LLM& operator=(LLM&&) noexcept;
  ~LLM();

  // Answers all prompts, in their order. Bad sampling parameters fail the call; a prompt that
  // cannot be served has a status of its own in its output. `sampling` is put over the model's own
  // defaults. `progress` is called after each step and may be empty.
  Result<std::vector<Output>> Generate(const std::vector<Prompt>& prompts,
                                       const Options& sampling = {},
                                       const ProgressCallback& progress = {});

  // The answer to a chat, whose prompt the model's own chat template makes.
  Result<Output> Chat(const std::vector<ChatMessage>& messages, const Options& sampling = {});

  Result<std::vector<TokenId>> Tokenize(const std::string& text) const;
  Result<std::string> Detokenize(const std::vector<TokenId>& ids) const;

  int max_model_len() const;
  // One sentence for each decision about the engine's sizes.
  std::vector<std::string> decisions() const;

 private:
  struct State;
  explicit LLM(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Hears what is new of a prompt, on a thread of the engine: it hands on and returns. The last
// output has is_finished set and always comes.
using OutputCallback = std::function<void(Output output)>;

// The engine on threads of its own. Any thread may call it.
class AsyncEngine {
 public:
  static Result<AsyncEngine> Create(const std::string& model, const Options& options = {});
  AsyncEngine(AsyncEngine&&) noexcept;
  AsyncEngine& operator=(AsyncEngine&&) noexcept;
  // Ends what still runs with kUnavailable.
  ~AsyncEngine();

  // Never blocks. kInvalidArgument: bad sampling parameters, or `request_id` still runs;
  // kResourceExhausted: too many prompts on their way; kUnavailable: the engine has stopped. Other
  // refusals come as the status of the last output.
  Status Submit(const std::string& request_id, const Prompt& prompt, const Options& sampling,
                OutputCallback callback);
  // Ends a prompt; its last output has FinishReason::kAbort. Unknown ids are passed over.
  void Abort(const std::string& request_id);
  // Waits until every prompt handed in has been heard to its end. Not in a callback.
  void Drain();
  // Refuses new prompts and lets running ones finish for up to `grace_ms`.
  void Shutdown(int grace_ms);

 private:
  struct State;
  explicit AsyncEngine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire::api
