// From tokens to what the caller sees: text, stop strings, logprobs, output kinds.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/prompt_record.h"
#include "metrics/trace_ring.h"
#include "request/request.h"

namespace quire {

class EngineMetrics;

// Keeps the records of all live prompts. One thread.
class OutputProcessor {
 public:
  // From now on counts into `metrics`, which outlives the processor.
  void CountInto(EngineMetrics& metrics) { metrics_ = &metrics; }

  // Begins a prompt. kInvalidArgument when its request_id is alive already.
  Status Add(std::unique_ptr<PromptRecord> record);

  // Says that these requests got into a step: for the first time, or again after a preemption.
  void NoteScheduled(std::span<const RequestId> requests,
                     std::chrono::steady_clock::time_point now);

  // Says what part of a prompt a step computed.
  void NotePrefill(RequestId request, const TraceSpan& chunk);

  // Takes in what the step that ended at `now` brought, and appends one output for each prompt that
  // has something to say by its OutputKind. Requests that a stop string ended are appended to
  // `ended`: the engine must abort them.
  void Process(std::span<const EngineCoreOutput> outputs, std::chrono::steady_clock::time_point now,
               std::vector<RequestOutput>& out, std::vector<RequestId>& ended);

  // Of the prompts that ended since the last call, where there are metrics.
  std::vector<RequestTrace> TakeTraces() { return std::exchange(traces_, {}); }

  // The requests of a prompt that still run; empty for an unknown one.
  std::vector<RequestId> LiveRequests(const std::string& request_id) const;

  // Drops a prompt that was added and then refused by the engine; null for an unknown one.
  std::unique_ptr<PromptRecord> Remove(const std::string& request_id);

  // Ends every prompt with an error.
  void FailAll(const Status& error, std::vector<RequestOutput>& out);

  std::size_t num_prompts() const { return prompts_.size(); }

 private:
  struct Place {
    PromptRecord* record;
    std::size_t index;
  };
  void CountTokens(const PromptRecord& record, std::size_t index, const EngineCoreOutput& output);
  void CountEnd(PromptRecord& record);

  std::unordered_map<std::string, std::unique_ptr<PromptRecord>> prompts_;
  std::unordered_map<RequestId, Place> by_request_;
  std::vector<PromptRecord*> with_news_;  // of the call under way, in the order of first news
  std::vector<PromptRecord*> finished_;   // of the call under way
  EngineMetrics* metrics_ = nullptr;
  std::vector<RequestTrace> traces_;
};

}  // namespace quire
