// The thread that turns what the engine gives into text and calls the sinks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "engine/engine_inbox.h"
#include "engine/engine_metrics.h"
#include "engine/live_prompts.h"
#include "engine/message_queue.h"
#include "engine/output.h"
#include "engine/stats_log.h"
#include "engine/step_report.h"
#include "request/request.h"

namespace quire {

// A prompt that the scheduler took in.
struct BegunPrompt {
  std::unique_ptr<PromptRecord> record;
  std::function<void(RequestOutput)> sink;
};
// A prompt that ended before it began.
struct EndedPrompt {
  RequestOutput output;
  std::function<void(RequestOutput)> sink;
};
struct StepOutputs {
  StepReport report;
  std::vector<RequestId> admitted;
  std::vector<PrefillPart> prefills;
  std::vector<EngineCoreOutput> outputs;
};
// Every prompt that still runs ends with this.
struct EngineFailure {
  Status status;
};
// A call that the engine thread has worked off.
struct CallDone {
  std::function<void(Status outcome)> done;
  Status outcome;
};
using OutputMessage = std::variant<BegunPrompt, EndedPrompt, StepOutputs, EngineFailure, CallDone>;

// How answers ended so far.
struct EndCounts {
  std::int64_t num_finished = 0;
  std::int64_t num_aborted = 0;
  std::int64_t num_failed = 0;
};

class OutputThread {
 public:
  // Aborts of what stop strings end go to `inbox`. Both outlive it.
  OutputThread(LivePrompts& live, EngineInbox& inbox);
  ~OutputThread();

  // Counts into `metrics`, and says every `log_interval` (0: never) what the engine does while it
  // does something. Before the first Push. `metrics` outlives this.
  void Observe(EngineMetrics& metrics, std::chrono::seconds log_interval);

  // Any thread; waits while the thread is far behind.
  void Push(OutputMessage message) { queue_.Push(std::move(message)); }

  // Works off what is queued and ends the thread.
  void Stop();

  EndCounts counts() const QUIRE_EXCLUDES(mutex_);

 private:
  void Run();
  void LogWhenDue();
  void KeepTraces();
  void Take(BegunPrompt& begun);
  void Take(EndedPrompt& ended);
  void Take(StepOutputs& step);
  void Take(EngineFailure& failure);
  void Take(CallDone& call);
  void Deliver();
  void Count(const RequestOutput& output);
  void Call(const std::function<void(RequestOutput)>& sink, RequestOutput output);

  LivePrompts& live_;
  EngineInbox& inbox_;
  MessageQueue<OutputMessage> queue_;

  // Of the thread alone.
  OutputProcessor processor_;
  std::unordered_map<std::string, std::function<void(RequestOutput)>> sinks_;
  std::vector<RequestOutput> outputs_;
  std::vector<RequestId> ended_;
  EngineMetrics* metrics_ = nullptr;
  std::optional<StatsLog> stats_log_;

  mutable Mutex mutex_;
  EndCounts counts_ QUIRE_GUARDED_BY(mutex_);

  std::jthread thread_;
};

}  // namespace quire
