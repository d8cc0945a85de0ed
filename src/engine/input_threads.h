// The threads that read prompts: they check and tokenize, have grammars compiled, and hand what is
// ready to the engine thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/engine_inbox.h"
#include "engine/engine_metrics.h"
#include "engine/input.h"
#include "engine/live_prompts.h"
#include "engine/message_queue.h"
#include "engine/output_thread.h"
#include "engine/prompt.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// What a caller handed in, on its way to an input thread.
struct SubmittedPrompt {
  std::string request_id;
  LivePrompts::Admission admission;
  PromptInput input;
  OutputSink sink;
  std::chrono::steady_clock::time_point arrival;
};

// Prompts that cannot be served, or were aborted before they were read, end here; each of the
// others is pushed to the inbox once, in no particular order.
class InputThreads {
 public:
  struct Options {
    int num_threads = 1;         // one more reads long texts, and some compile grammars
    std::size_t max_queued = 0;  // prompts that wait for each kind of thread
    int stream_interval = 1;     // of a prompt that names none that is larger
    // Hears of each prompt once it is read, on an input thread; may be empty.
    std::function<void(const std::string& request_id, const EngineRequest& request)> on_prompt;
  };
  // All outlive the threads.
  struct Neighbours {
    const InputProcessor& processor;
    const Tokenizer* tokenizer;  // null: the model has none
    LivePrompts& live;
    EngineInbox& inbox;
    OutputThread& output;
    EngineMetrics& metrics;
  };
  // May throw what starting a thread throws.
  InputThreads(Options options, const Neighbours& neighbours);
  ~InputThreads() { Stop(); }
  InputThreads(const InputThreads&) = delete;
  InputThreads& operator=(const InputThreads&) = delete;

  // Any thread; never waits. False, and `prompt` stays as it was, when too many wait or it stops.
  bool TryPush(SubmittedPrompt& prompt);

  // Ends what has not been handed on with kUnavailable, and then the threads.
  void Stop();
  bool is_stopping() const { return submitted_.is_closed(); }

 private:
  void StartThreads();
  void RunInput(MessageQueue<SubmittedPrompt>& prompts);
  Result<bool> Prepare(SubmittedPrompt& prompt, PreparedPrompt& prepared) const;
  void HandOn(PreparedPrompt& prepared);
  void Defer(PreparedPrompt& prepared);  // until its grammar is compiled
  // A slow grammar holds up no prompt without.
  void RunCompiler();
  Status Compile(PreparedPrompt& prepared) const;
  void End(RequestOutput last, OutputSink sink);

  const Options options_;
  const Neighbours neighbours_;
  MessageQueue<SubmittedPrompt> submitted_;       // ids, and texts that are read at once
  MessageQueue<SubmittedPrompt> submitted_long_;  // texts that take a while
  MessageQueue<PreparedPrompt> compiling_;        // prompts that wait for their grammar
  std::vector<std::jthread> input_threads_;
  std::vector<std::jthread> compiler_threads_;
};

}  // namespace quire
