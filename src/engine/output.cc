#include "engine/output.h"

#include <utility>

#include "base/strings.h"
#include "engine/engine_metrics.h"

namespace quire {

Status OutputProcessor::Add(std::unique_ptr<PromptRecord> record) {
  PromptRecord* const added = record.get();
  const std::string& request_id = added->request_id();
  if (!prompts_.try_emplace(request_id, std::move(record)).second) {
    return InvalidArgument(
        StrCat("request_id: \"", Printable(request_id), "\" belongs to a request that still runs"));
  }
  const auto& completions = added->completions();
  for (std::size_t i = 0; i < completions.size(); ++i) {
    by_request_[completions[i].request_id()] = {.record = added, .index = i};
  }
  return {};
}

void OutputProcessor::NoteScheduled(std::span<const RequestId> requests,
                                    std::chrono::steady_clock::time_point now) {
  for (const RequestId id : requests) {
    const auto found = by_request_.find(id);
    if (found == by_request_.end()) continue;
    found->second.record->NoteScheduled(found->second.index, now);
  }
}

void OutputProcessor::NotePrefill(RequestId request, const TraceSpan& chunk) {
  const auto found = by_request_.find(request);
  if (found != by_request_.end()) found->second.record->NotePrefill(chunk);
}

void OutputProcessor::CountTokens(const PromptRecord& record, std::size_t index,
                                  const EngineCoreOutput& output) {
  if (metrics_ == nullptr) return;
  const AnswerStats& stats = record.stats(index);
  if (!output.new_tokens.empty()) {
    metrics_->NoteTokens(stats, static_cast<int>(output.new_tokens.size()));
  }
  const auto& reason = record.completions()[index].so_far().finish_reason;
  if (reason) metrics_->NoteEnd(stats, *reason);
}

void OutputProcessor::CountEnd(PromptRecord& record) {
  if (metrics_ == nullptr) return;
  const auto num_answers = static_cast<int>(record.completions().size());
  metrics_->NotePromptEnd(num_answers, record.num_generated());
  traces_.push_back(record.TakeTrace());
}

void OutputProcessor::Process(std::span<const EngineCoreOutput> outputs,
                              std::chrono::steady_clock::time_point now,
                              std::vector<RequestOutput>& out, std::vector<RequestId>& ended) {
  with_news_.clear();
  for (const EngineCoreOutput& output : outputs) {
    const auto found = by_request_.find(output.id);
    if (found == by_request_.end()) continue;  // ended here before the engine heard of it
    const auto [record, index] = found->second;
    if (record->Append(index, output, now)) ended.push_back(output.id);
    CountTokens(*record, index, output);
    if (record->completions()[index].is_finished()) {
      by_request_.erase(found);
      if (record->is_finished()) finished_.push_back(record);
    }
    if (with_news_.empty() || with_news_.back() != record) with_news_.push_back(record);
  }
  for (PromptRecord* record : with_news_) {
    if (record->has_report()) out.push_back(record->MakeOutput());
  }
  for (PromptRecord* record : finished_) {
    CountEnd(*record);
    prompts_.erase(std::string(record->request_id()));
  }
  finished_.clear();
}

std::vector<RequestId> OutputProcessor::LiveRequests(const std::string& request_id) const {
  std::vector<RequestId> live;
  const auto found = prompts_.find(request_id);
  if (found == prompts_.end()) return live;
  for (const Completion& completion : found->second->completions()) {
    if (!completion.is_finished()) live.push_back(completion.request_id());
  }
  return live;
}

std::unique_ptr<PromptRecord> OutputProcessor::Remove(const std::string& request_id) {
  const auto found = prompts_.find(request_id);
  if (found == prompts_.end()) return nullptr;
  for (const Completion& completion : found->second->completions()) {
    by_request_.erase(completion.request_id());
  }
  std::unique_ptr<PromptRecord> record = std::move(found->second);
  prompts_.erase(found);
  return record;
}

void OutputProcessor::FailAll(const Status& error, std::vector<RequestOutput>& out) {
  for (auto& [request_id, record] : prompts_) {
    for (std::size_t i = 0; metrics_ != nullptr && i < record->completions().size(); ++i) {
      const bool is_live = !record->completions()[i].is_finished();
      if (is_live) metrics_->NoteEnd(record->stats(i), FinishReason::kError);
    }
    out.push_back(record->Fail(error));
    CountEnd(*record);
  }
  prompts_.clear();
  by_request_.clear();
}

}  // namespace quire
