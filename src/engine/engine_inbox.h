// What the engine thread hears from others: prepared prompts, aborts, calls, the wish to end.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/live_prompts.h"
#include "engine/prompt_record.h"
#include "request/request.h"

namespace quire {

class EngineCore;

// What prompts and calls end with that come while the engine shuts down.
Status ShuttingDown();

// A prompt that is ready for the scheduler, and what its outputs need.
struct PreparedPrompt {
  std::vector<EngineRequest> requests;
  std::unique_ptr<PromptRecord> record;
  std::function<void(RequestOutput)> sink;
};

// Something to do between two steps, on the engine thread, and who hears what came of it.
struct EngineCall {
  std::function<Status(EngineCore& core)> run;
  std::function<void(Status outcome)> done;
};

// Many writers, one reader. Prompts and calls are bounded by `capacity`, aborts by the prompts
// alive.
class EngineInbox {
 public:
  explicit EngineInbox(std::size_t capacity) : capacity_(capacity) {}

  // Waits for room. Gives the prompt back when the inbox is closed.
  bool PushPrompt(PreparedPrompt& prompt) QUIRE_EXCLUDES(mutex_);
  // Never waits.
  void PushAbort(RequestRange requests) QUIRE_EXCLUDES(mutex_);
  // Never waits. False, and `call` stays as it was, when the inbox is full of calls or closed.
  bool PushCall(EngineCall& call) QUIRE_EXCLUDES(mutex_);
  void Close() QUIRE_EXCLUDES(mutex_);

  struct Contents {
    std::vector<PreparedPrompt> prompts;
    std::vector<RequestRange> aborts;
    std::vector<EngineCall> calls;
    bool is_closed = false;
  };
  // Takes everything out into `contents`, whose memory is used again; with `may_wait` only once
  // there is something or the inbox is closed.
  void Take(bool may_wait, Contents& contents) QUIRE_EXCLUDES(mutex_);

 private:
  const std::size_t capacity_;
  Mutex mutex_;
  CondVar changed_;
  Contents contents_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
