#include "engine/output_thread.h"

#include <exception>
#include <utility>
#include <variant>

#include "base/log.h"

namespace quire {
namespace {

// Steps that the thread may be behind before the engine waits for it.
constexpr std::size_t kMaxQueuedMessages = 512;

}  // namespace

OutputThread::OutputThread(LivePrompts& live, EngineInbox& inbox)
    : live_(live), inbox_(inbox), queue_(kMaxQueuedMessages), thread_([this] { Run(); }) {}

OutputThread::~OutputThread() { Stop(); }

void OutputThread::Stop() {
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

void OutputThread::Observe(EngineMetrics& metrics, std::chrono::seconds log_interval) {
  metrics_ = &metrics;
  processor_.CountInto(metrics);
  if (log_interval.count() > 0) stats_log_.emplace(log_interval);
}

void OutputThread::Run() {
  while (true) {
    LogWhenDue();
    auto message = queue_.Pop();
    if (!message) return;
    std::visit([this](auto& content) { Take(content); }, *message);
  }
}

// Waits for the next message no longer than until a line is due.
void OutputThread::LogWhenDue() {
  if (!stats_log_) return;
  while (const auto due = stats_log_->due()) {
    if (std::chrono::steady_clock::now() < *due && queue_.WaitUntil(*due)) return;
    stats_log_->Write(std::chrono::steady_clock::now());
  }
}

void OutputThread::Take(BegunPrompt& begun) {
  std::string request_id = begun.record->request_id();
  const Status status = processor_.Add(std::move(begun.record));
  QUIRE_CHECK(status.ok()) << status.message();  // LivePrompts lets no id in twice
  sinks_[std::move(request_id)] = std::move(begun.sink);
}

void OutputThread::Take(EndedPrompt& ended) {
  live_.Remove(ended.output.request_id);
  Count(ended.output);
  Call(ended.sink, std::move(ended.output));
  live_.NoteHeard();
}

void OutputThread::Take(StepOutputs& step) {
  const StepReport& report = step.report;
  processor_.NoteScheduled(step.admitted, report.begin);
  for (const PrefillPart& part : step.prefills) {
    processor_.NotePrefill(part.id, {.kind = SpanKind::kPrefillChunk,
                                     .begin = report.begin,
                                     .end = report.end,
                                     .num_tokens = part.num_tokens});
  }
  ended_.clear();
  processor_.Process(step.outputs, report.end, outputs_, ended_);
  for (const RequestId id : ended_) inbox_.PushAbort({.first = id, .count = 1});
  if (metrics_ != nullptr) metrics_->NoteStep(report);
  if (stats_log_) stats_log_->NoteStep(report, step.outputs);
  Deliver();
  KeepTraces();
}

// The last outputs have gone out now, which ends each one's stream.
void OutputThread::KeepTraces() {
  if (metrics_ == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  for (RequestTrace& trace : processor_.TakeTraces()) {
    if (!trace.spans.empty() && trace.spans.back().kind == SpanKind::kStream) {
      trace.spans.back().end = now;
    }
    metrics_->traces().Add(std::move(trace));
  }
}

void OutputThread::Take(EngineFailure& failure) {
  processor_.FailAll(failure.status, outputs_);
  Deliver();
  KeepTraces();
}

void OutputThread::Take(CallDone& call) {
  try {
    if (call.done) call.done(std::move(call.outcome));
  } catch (const std::exception& error) {
    QUIRE_LOG(kError) << "who made a call failed to hear its outcome: " << error.what();
  }
}

void OutputThread::Deliver() {
  for (RequestOutput& output : outputs_) {
    const auto sink = sinks_.find(output.request_id);
    QUIRE_CHECK(sink != sinks_.end()) << "an output without a sink";
    Count(output);
    if (!output.is_finished) {
      Call(sink->second, std::move(output));
      continue;
    }
    std::function<void(RequestOutput)> last = std::move(sink->second);
    sinks_.erase(sink);
    live_.Remove(output.request_id);  // first, so that the sink may use the id again
    Call(last, std::move(output));
    last = nullptr;  // who waits for the prompt finds what the sink held free
    live_.NoteHeard();
  }
  outputs_.clear();
}

void OutputThread::Count(const RequestOutput& output) {
  EndCounts ended;
  if (output.is_finished && !output.error.ok() && output.outputs.empty()) ++ended.num_failed;
  for (const CompletionOutput& completion : output.outputs) {
    if (!output.is_finished) break;
    switch (completion.finish_reason.value_or(FinishReason::kError)) {
      case FinishReason::kStop:
      case FinishReason::kLength:
      case FinishReason::kRepetition:
        ++ended.num_finished;
        break;
      case FinishReason::kAbort:
        ++ended.num_aborted;
        break;
      case FinishReason::kError:
        ++ended.num_failed;
        break;
    }
  }
  MutexLock lock(mutex_);
  counts_.num_finished += ended.num_finished;
  counts_.num_aborted += ended.num_aborted;
  counts_.num_failed += ended.num_failed;
}

void OutputThread::Call(const std::function<void(RequestOutput)>& sink, RequestOutput output) {
  try {
    if (sink) sink(std::move(output));
  } catch (const std::exception& error) {
    QUIRE_LOG(kError) << "an output sink failed: " << error.what();
  }
}

EndCounts OutputThread::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace quire
