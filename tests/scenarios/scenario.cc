#include "scenario.h"

#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "request/request.h"

namespace quire {
namespace {

constexpr TokenId kUsualToken = 7;

std::vector<std::string> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(line.substr(0, line.find('#')), ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::string JoinFrom(const std::vector<std::string>& words, std::size_t first) {
  return Join(
      std::vector<std::string>(words.begin() + static_cast<std::ptrdiff_t>(first), words.end()),
      " ");
}

Status Expect(const std::string& expected, const std::string& found) {
  if (expected == found) return Status();
  return InvalidArgument(StrCat("expected '", expected, "', found '", found, "'"));
}

Status Unknown(const std::string& word) { return InvalidArgument(StrCat("unknown word ", word)); }

Result<std::vector<TokenId>> ParseTokens(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const std::string_view part : Split(text, ',')) {
    const auto token = ParseNumber<TokenId>(part);
    if (!token) return InvalidArgument(StrCat("not a token: ", part));
    tokens.push_back(*token);
  }
  return tokens;
}

// A series of tokens of its own for each name; equal names share it.
TokenId SeriesToken(std::string_view name, int position) {
  TokenId series = 1;
  for (const char letter : name) series = series * 31 % 8191 + letter;
  return 1000 + series * 200 + position;
}

}  // namespace

std::string Scenario::Play(std::string_view text) {
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const Words words = WordsOf(line);
    if (words.empty()) continue;
    const Status status = PlayLine(words);
    if (!status.ok()) return StrCat("line ", number, ", ", line, ": ", status.message());
  }
  if (scheduler_ == nullptr) return "nothing happens";
  return "";
}

Status Scenario::PlayLine(const Words& words) {
  if (scheduler_ == nullptr) {
    if (SetOption(words).ok()) return Status();
    QUIRE_RETURN_IF_ERROR(Start());
  }
  return Act(words);
}

Status Scenario::SetOption(const Words& words) {
  const std::string& key = words[0];
  const std::string value = words.size() > 1 ? words[1] : "";
  const int number = ParseNumber<int>(value).value_or(0);
  SchedulerOptions& options = config_.options;
  if (key == "budget") {
    options.max_num_batched_tokens = number;
  } else if (key == "seqs") {
    options.max_num_seqs = number;
  } else if (key == "max_waiting") {
    options.max_waiting = number;
  } else if (key == "max_waiting_tokens") {
    options.max_waiting_tokens = number;
  } else if (key == "threshold") {
    options.long_prefill_token_threshold = number;
  } else if (key == "partial") {
    options.max_num_partial_prefills = number;
  } else if (key == "long_partial") {
    options.max_long_partial_prefills = number;
  } else if (key == "chunked") {
    options.enable_chunked_prefill = value == "on";
  } else if (key == "policy") {
    options.policy = value == "priority" ? SchedulingPolicy::kPriority : SchedulingPolicy::kFcfs;
  } else if (key == "blocks") {
    config_.num_blocks = number + 1;
  } else if (key == "block_size") {
    config_.block_size = number;
  } else if (key == "max_len") {
    config_.max_model_len = number;
  } else if (key == "prefix_cache") {
    config_.enable_prefix_caching = value == "on";
  } else if (key == "windows") {
    std::vector<int> windows;
    for (std::size_t i = 1; i < words.size(); ++i) {
      windows.push_back(ParseNumber<int>(words[i]).value_or(0));
    }
    config_.kv_spec = SpecOfWindows(windows);
  } else {
    return Unknown(key);
  }
  return Status();
}

Status Scenario::Start() {
  QUIRE_ASSIGN_OR_RETURN(scheduler_, Scheduler::Create(config_));
  worker_ = std::make_unique<FakeWorker>(config_);
  return Status();
}

Status Scenario::Act(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "add") return Add(words);
  if (verb == "refuse") return Refuse(words);
  if (verb == "step") return Step(words);
  if (verb == "resume") {
    scheduler_->Resume();
    return Status();
  }
  if (verb == "pause") {
    scheduler_->Pause(JoinFrom(words, 1) == "preempt" ? PauseMode::kPreempt : PauseMode::kKeep);
    return Status();
  }
  if (verb == "abort") {
    QUIRE_ASSIGN_OR_RETURN(const RequestId id, IdOf(words.at(1)));
    scheduler_->Abort(id);
    return Status();
  }
  if (verb == "give" || verb == "draft" || verb == "fail") {
    QUIRE_ASSIGN_OR_RETURN(const RequestId id, IdOf(words.at(1)));
    Script& script = scripts_[id];
    if (verb == "fail") {
      script.fails = true;
      return Status();
    }
    QUIRE_ASSIGN_OR_RETURN(auto tokens, ParseTokens(words.at(2)));
    (verb == "give" ? script.tokens.emplace() : script.drafts) = std::move(tokens);
    return Status();
  }
  return Check(words);
}

Status Scenario::Check(const Words& words) {
  const std::string& what = words[0];
  if (what == "out") return Expect(JoinFrom(words, 1), outputs_);
  if (what == "forget") return Expect(JoinFrom(words, 1), forgotten_);
  if (what == "reset") {
    return Expect(words.at(1), scheduler_->ResetPrefixCache() ? "done" : "refused");
  }
  if (what == "cached") {
    QUIRE_ASSIGN_OR_RETURN(const RequestId id, IdOf(words.at(1)));
    return Expect(words.at(2), StrCat(cached_[id]));
  }
  if (what == "table") {
    QUIRE_ASSIGN_OR_RETURN(const RequestId id, IdOf(words.at(1)));
    std::vector<std::string> groups;
    for (const auto& group : worker_->tables(id)) {
      std::vector<std::int32_t> blocks;
      blocks.reserve(group.size());
      for (const BlockId block : group) blocks.push_back(block.value());
      groups.push_back(Join(blocks, " "));
    }
    return Expect(JoinFrom(words, 2), Join(groups, " / "));
  }
  const std::optional<std::int64_t> stat = StatOf(what);
  return stat ? Expect(words.at(1), StrCat(*stat)) : Unknown(what);
}

std::optional<std::int64_t> Scenario::StatOf(const std::string& word) const {
  const SchedulerStats stats = scheduler_->stats();
  if (word == "used") return stats.num_used_blocks;
  if (word == "running") return stats.num_running;
  if (word == "waiting") return stats.num_waiting;
  if (word == "preemptions") return stats.num_preemptions;
  if (word == "queries") return stats.prefix_queries;
  if (word == "hits") return stats.prefix_hits;
  return std::nullopt;
}

Status Scenario::Add(const Words& words) {
  QUIRE_ASSIGN_OR_RETURN(EngineRequest request, ParseRequest(words));
  return scheduler_->Add(std::move(request));
}

// The request must be refused with a message that holds the words after `because`.
Status Scenario::Refuse(const Words& words) {
  const auto because = std::find(words.begin(), words.end(), "because");
  QUIRE_ASSIGN_OR_RETURN(EngineRequest request, ParseRequest(Words(words.begin(), because)));
  const Status status = scheduler_->Add(std::move(request));
  const std::string wanted = JoinFrom(words, static_cast<std::size_t>(because - words.begin()) + 1);
  if (!status.ok() && status.message().find(wanted) != std::string::npos) return Status();
  return InvalidArgument(StrCat("found '", status.ok() ? "accepted" : status.message(), "'"));
}

Result<EngineRequest> Scenario::ParseRequest(const Words& words) {
  const std::string& name = words.at(1);
  EngineRequest request = RequestOf(static_cast<std::int64_t>(ids_.size()) + 1, {}, 100);
  request.arrival = std::chrono::steady_clock::time_point(std::chrono::seconds(request.id.value()));
  ids_[name] = request.id;
  names_[request.id] = name;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos) return Unknown(words[i]);
    const std::string key = words[i].substr(0, equals);
    const std::string value = words[i].substr(equals + 1);
    if (key == "prompt") {
      QUIRE_ASSIGN_OR_RETURN(request.prompt, ParsePrompt(value, name));
    } else {
      QUIRE_RETURN_IF_ERROR(SetRequestField(key, value, request));
    }
  }
  return request;
}

// "10": ten tokens of the request's own series; "s8+a2": eight of series s, then two of series a.
Result<std::vector<TokenId>> Scenario::ParsePrompt(const std::string& text,
                                                   const std::string& name) {
  std::vector<TokenId> prompt;
  for (const std::string_view part : Split(text, '+')) {
    const std::size_t digits = std::min(part.find_first_of("0123456789"), part.size());
    const std::string series =
        digits == 0 ? StrCat("own ", name) : std::string(part.substr(0, digits));
    const auto count = ParseNumber<int>(part.substr(digits));
    if (!count) return InvalidArgument(StrCat("not a prompt: ", text));
    for (int i = 0; i < *count; ++i) prompt.push_back(SeriesToken(series, i));
  }
  return prompt;
}

Status Scenario::SetRequestField(const std::string& key, const std::string& value,
                                 EngineRequest& request) {
  const int number = ParseNumber<int>(value).value_or(0);
  if (key == "max") {
    request.max_tokens = number;
  } else if (key == "min") {
    request.sampling.min_tokens = number;
  } else if (key == "priority") {
    request.priority = number;
  } else if (key == "arrival") {
    request.arrival = std::chrono::steady_clock::time_point(std::chrono::seconds(number));
  } else if (key == "salt") {
    request.cache_salt = value;
  } else if (key == "family") {
    QUIRE_ASSIGN_OR_RETURN(request.family, IdOf(value));
  } else if (key == "ignore_eos") {
    request.sampling.ignore_eos = value == "on";
  } else if (key == "stop_ids") {
    QUIRE_ASSIGN_OR_RETURN(request.sampling.stop_token_ids, ParseTokens(value));
  } else if (key == "prompt_logprobs") {
    request.sampling.prompt_logprobs = number;
  } else {
    return Unknown(key);
  }
  return Status();
}

Status Scenario::Step(const Words& words) {
  const StepPlan& plan = scheduler_->Schedule();
  worker_->Execute(plan);
  if (!worker_->faults.empty()) return InvalidArgument(worker_->faults[0]);
  const std::string found = Describe(plan);
  forgotten_.clear();
  for (const RequestId id : plan.finished) {
    forgotten_ += StrCat(forgotten_.empty() ? "" : " ", NameOf(id));
  }
  const StepResult result = MakeResult(plan);
  outputs_.clear();
  for (const EngineCoreOutput& output : scheduler_->Update(result)) {
    outputs_ += StrCat(outputs_.empty() ? "" : " ", Describe(output));
    cached_[output.id] = output.num_cached_tokens;
  }
  scheduler_->CheckInvariants();
  return Expect(JoinFrom(words, 1), found);
}

StepResult Scenario::MakeResult(const StepPlan& plan) {
  StepResult result;
  result.step_id = plan.step_id;
  for (const ScheduledRow& row : plan.rows) {
    const Script script = std::exchange(scripts_[row.id], Script());
    RowResult& out = result.rows.emplace_back();
    out.id = row.id;
    if (script.fails) {
      worker_->Spoil(row);
      out.error = Internal("as the scenario says");
      continue;
    }
    out.prompt_logprobs.resize(static_cast<std::size_t>(row.num_new_tokens));
    if (!row.samples) continue;
    out.tokens = script.tokens.value_or(std::vector<TokenId>{kUsualToken});
    out.draft_tokens = script.drafts;
    worker_->Append(row.id, out.tokens);
  }
  return result;
}

Result<RequestId> Scenario::IdOf(const std::string& name) const {
  const auto it = ids_.find(name);
  if (it == ids_.end()) return NotFound(StrCat("no request ", name));
  return it->second;
}

// "a:8+2*" for each row: computed and new tokens, "~n" where n of these are drafts, "*" where the
// row samples, ">" before requests whose data the plan brings.
std::string Scenario::Describe(const StepPlan& plan) const {
  std::vector<std::string> rows;
  for (const ScheduledRow& row : plan.rows) {
    const bool is_new = std::any_of(plan.new_requests.begin(), plan.new_requests.end(),
                                    [&](const NewRequestData& data) { return data.id == row.id; });
    rows.push_back(StrCat(is_new ? ">" : "", NameOf(row.id), ":", row.num_computed_tokens, "+",
                          row.num_new_tokens,
                          row.draft_tokens.empty() ? "" : StrCat("~", row.draft_tokens.size()),
                          row.samples ? "*" : ""));
  }
  return Join(rows, " ");
}

// "a:7,8/stop=8": the tokens, and where it ended the reason and what stopped it. "?n" tells of n
// prompt logprobs.
std::string Scenario::Describe(const EngineCoreOutput& output) const {
  std::string text = StrCat(NameOf(output.id), ":", Join(output.new_tokens, ","));
  if (!output.new_prompt_logprobs.empty()) text += StrCat("?", output.new_prompt_logprobs.size());
  if (output.finish_reason) text += StrCat("/", ToString(*output.finish_reason));
  if (const auto* token = std::get_if<TokenId>(&output.stop_reason)) text += StrCat("=", *token);
  return text;
}

}  // namespace quire
