#include "engine/trace_replay.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/strings.h"
#include "formats/json.h"

namespace quire {
namespace {

constexpr std::size_t kMaxRequests = 10'000'000;
constexpr int kMaxTokens = 1 << 24;  // of a prompt or an answer
constexpr TokenId kVocab = 1 << 20;

// A member that is a number of tokens; absent: `standard`.
Result<int> Count(const Json& line, std::string_view name, int least, int standard) {
  const Json* value = line.Find(name);
  if (value == nullptr) return standard;
  if (!value->is_int() || value->integer() < least || value->integer() > kMaxTokens) {
    return InvalidArgument(StrCat(name, ": must be an integer from ", least, " to ", kMaxTokens,
                                  ", got ", Printable(value->Dump())));
  }
  return static_cast<int>(value->integer());
}

Result<std::optional<double>> Moment(const Json& line, std::string_view name) {
  const Json* value = line.Find(name);
  if (value == nullptr) return std::optional<double>();
  const bool is_usable = value->is_number() && value->number() >= 0 && value->number() <= 1e9;
  if (!is_usable) {
    return InvalidArgument(
        StrCat(name, ": must be seconds, 0 or more, got ", Printable(value->Dump())));
  }
  return std::optional<double>(value->number());
}

Result<std::string> Text(const Json& line, std::string_view name) {
  const Json* value = line.Find(name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) {
    return InvalidArgument(StrCat(name, ": must be a string, got ", value->kind()));
  }
  return value->string();
}

Status CheckNames(const Json& line) {
  static const std::vector<std::string> kNames = {
      "arrival", "id", "prompt", "output", "prefix", "prefix_tokens", "priority", "abort"};
  for (const auto& [name, value] : line.object()) {
    if (std::ranges::find(kNames, name) != kNames.end()) continue;
    return InvalidArgument(StrCat("unknown member ", Printable(name)));
  }
  return {};
}

Result<TraceRequest> ParseLine(std::string_view text) {
  QUIRE_ASSIGN_OR_RETURN(const Json line, ParseJson(text, {.max_depth = 2}));
  if (!line.is_object()) return InvalidArgument(StrCat("must be an object, got ", line.kind()));
  QUIRE_RETURN_IF_ERROR(CheckNames(line));
  TraceRequest request;
  QUIRE_ASSIGN_OR_RETURN(const auto arrival, Moment(line, "arrival"));
  request.arrival = arrival.value_or(0);
  QUIRE_ASSIGN_OR_RETURN(request.abort, Moment(line, "abort"));
  QUIRE_ASSIGN_OR_RETURN(request.id, Text(line, "id"));
  QUIRE_ASSIGN_OR_RETURN(request.prefix, Text(line, "prefix"));
  QUIRE_ASSIGN_OR_RETURN(request.num_prompt_tokens, Count(line, "prompt", 1, 1));
  QUIRE_ASSIGN_OR_RETURN(request.num_output_tokens, Count(line, "output", 1, 1));
  QUIRE_ASSIGN_OR_RETURN(request.priority, Count(line, "priority", -kMaxTokens, 0));
  const int standard = request.prefix.empty() ? 0 : request.num_prompt_tokens;
  QUIRE_ASSIGN_OR_RETURN(request.num_prefix_tokens, Count(line, "prefix_tokens", 0, standard));
  if (request.num_prefix_tokens > request.num_prompt_tokens) {
    return InvalidArgument(StrCat("prefix_tokens: must be at most the prompt's ",
                                  request.num_prompt_tokens, ", got ", request.num_prefix_tokens));
  }
  return request;
}

// Tokens that depend on the text and their place alone.
void AppendTokens(std::string_view text, int begin, int end, std::vector<TokenId>& tokens) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  for (int i = begin; i < end; ++i) {
    const std::uint64_t mixed = (hash + static_cast<std::uint64_t>(i)) * 0x9E3779B97F4A7C15ULL;
    tokens.push_back(static_cast<TokenId>((mixed >> 32) % kVocab));
  }
}

class Replay {
 public:
  Replay(const std::vector<TraceRequest>& trace, const ReplayOptions& options,
         std::unique_ptr<Scheduler> scheduler)
      : trace_(trace), options_(options), scheduler_(std::move(scheduler)) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (trace[i].abort) aborts_.push_back(i);
    }
    std::ranges::sort(aborts_, {}, [&](std::size_t i) { return *trace[i].abort; });
  }

  Result<ReplaySummary> Run(const std::function<Status(const ReplayStep&)>& on_step) {
    while (next_ < trace_.size() || scheduler_->has_unfinished()) {
      Admit();
      Abort();
      const StepPlan& plan = scheduler_->Schedule();
      if (plan.empty()) {
        Collect(scheduler_->TakeOutputs());
        if (!scheduler_->has_unfinished() && next_ >= trace_.size()) break;
        QUIRE_RETURN_IF_ERROR(WaitForNextEvent());
        continue;
      }
      Describe(plan);
      Compute(plan);
      now_ = step_.end;
      const auto outputs = scheduler_->Update(result_);
      Collect(outputs);
      if (on_step) QUIRE_RETURN_IF_ERROR(on_step(step_));
      ++summary_.num_steps;
    }
    summary_.seconds = now_;
    summary_.stats = scheduler_->stats();
    std::ranges::sort(summary_.first_token_seconds);
    std::ranges::sort(summary_.total_seconds);
    return std::move(summary_);
  }

 private:
  struct Live {
    std::size_t index = 0;  // in the trace
    bool has_token = false;
  };

  const TraceRequest& Of(RequestId id) const {
    return trace_[static_cast<std::size_t>(id.value())];
  }

  void Admit() {
    for (; next_ < trace_.size() && trace_[next_].arrival <= now_; ++next_) {
      const TraceRequest& arrived = trace_[next_];
      EngineRequest request;
      request.id = RequestId(static_cast<std::int64_t>(next_));
      request.prompt.reserve(static_cast<std::size_t>(arrived.num_prompt_tokens));
      AppendTokens(StrCat("prefix ", arrived.prefix), 0, arrived.num_prefix_tokens, request.prompt);
      AppendTokens(StrCat("request ", next_), arrived.num_prefix_tokens, arrived.num_prompt_tokens,
                   request.prompt);
      request.max_tokens = arrived.num_output_tokens;
      request.sampling.max_tokens = arrived.num_output_tokens;
      request.priority = arrived.priority;
      request.arrival += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(arrived.arrival));
      const RequestId id = request.id;
      if (scheduler_->Add(std::move(request)).ok()) {
        live_[id] = {.index = next_};
      } else {
        ++summary_.num_refused;
      }
    }
  }

  void Abort() {
    for (; next_abort_ < aborts_.size() && *trace_[aborts_[next_abort_]].abort <= now_;
         ++next_abort_) {
      scheduler_->Abort(RequestId(static_cast<std::int64_t>(aborts_[next_abort_])));
    }
  }

  Status WaitForNextEvent() {
    double next = std::numeric_limits<double>::infinity();
    if (next_ < trace_.size()) next = trace_[next_].arrival;
    if (next_abort_ < aborts_.size()) next = std::min(next, *trace_[aborts_[next_abort_]].abort);
    if (next == std::numeric_limits<double>::infinity()) {
      return Internal("requests wait and none can be admitted");
    }
    now_ = std::max(now_, next);
    return {};
  }

  void Describe(const StepPlan& plan) {
    step_.number = summary_.num_steps;
    step_.begin = now_;
    step_.end = now_ + options_.step_seconds + options_.token_seconds * plan.num_tokens;
    step_.num_tokens = plan.num_tokens;
    step_.stats = scheduler_->stats();
    step_.rows.clear();
    step_.preempted.clear();
    step_.finished.clear();
    for (const ScheduledRow& row : plan.rows) {
      step_.rows.push_back({.id = Of(row.id).id,
                            .num_computed = row.num_computed_tokens,
                            .num_new = row.num_new_tokens,
                            .samples = row.samples});
    }
    for (const RequestId id : plan.finished) {
      if (live_.contains(id)) step_.preempted.push_back(Of(id).id);
    }
  }

  void Compute(const StepPlan& plan) {
    result_.step_id = plan.step_id;
    result_.rows.resize(plan.rows.size());
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      const ScheduledRow& row = plan.rows[i];
      RowResult& result = result_.rows[i];
      result.id = row.id;
      result.tokens.clear();
      const int place = row.num_computed_tokens + row.num_new_tokens;
      if (row.samples)
        AppendTokens(StrCat("answer ", row.id.value()), place, place + 1, result.tokens);
    }
  }

  void Collect(std::span<const EngineCoreOutput> outputs) {
    for (const EngineCoreOutput& output : outputs) {
      const auto found = live_.find(output.id);
      if (found == live_.end()) continue;
      const TraceRequest& request = trace_[found->second.index];
      summary_.num_output_tokens += static_cast<std::int64_t>(output.new_tokens.size());
      if (!output.new_tokens.empty() && !std::exchange(found->second.has_token, true)) {
        summary_.first_token_seconds.push_back(now_ - request.arrival);
      }
      if (!output.finish_reason) continue;
      step_.finished.push_back(request.id);
      if (*output.finish_reason == FinishReason::kAbort) {
        ++summary_.num_aborted;
      } else {
        ++summary_.num_finished;
        summary_.total_seconds.push_back(now_ - request.arrival);
      }
      live_.erase(found);
    }
  }

  const std::vector<TraceRequest>& trace_;
  const ReplayOptions& options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::size_t next_ = 0;             // of the trace, to arrive
  std::vector<std::size_t> aborts_;  // indices in the trace, by time
  std::size_t next_abort_ = 0;
  std::unordered_map<RequestId, Live> live_;
  double now_ = 0;
  ReplayStep step_;
  StepResult result_;
  ReplaySummary summary_;
};

}  // namespace

Result<std::vector<TraceRequest>> ParseTrace(std::string_view text) {
  std::vector<TraceRequest> trace;
  std::unordered_set<std::string> ids;
  std::size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<TraceRequest> request = ParseLine(line);
    if (!request.ok()) return request.status().With(StrCat("line ", number));
    if (trace.size() >= kMaxRequests) {
      return InvalidArgument(StrCat("line ", number, ": more than ", kMaxRequests, " requests"));
    }
    if (request->id.empty()) request->id = StrCat("r", number);
    if (!ids.insert(request->id).second) {
      return InvalidArgument(
          StrCat("line ", number, ": id: ", Printable(request->id), " stands twice"));
    }
    trace.push_back(*std::move(request));
  }
  std::ranges::stable_sort(trace, {}, &TraceRequest::arrival);
  return trace;
}

Result<ReplaySummary> ReplayTrace(const std::vector<TraceRequest>& trace, ReplayOptions options,
                                  const std::function<Status(const ReplayStep&)>& on_step) {
  if (options.scheduler.kv_spec.groups.empty()) options.scheduler.kv_spec.groups.resize(1);
  QUIRE_ASSIGN_OR_RETURN(auto scheduler, Scheduler::Create(options.scheduler));
  return Replay(trace, options, std::move(scheduler)).Run(on_step);
}

}  // namespace quire
