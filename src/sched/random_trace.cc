#include "sched/random_trace.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "base/strings.h"
#include "sched/testing.h"
#include "step/wire.h"

namespace quire {
namespace {

constexpr TokenId kEos = 2;
constexpr TokenId kFirstWord = 3;
constexpr int kVocab = 12;  // small, so that requests meet on equal continuations

// The model: the next token after everything that `word` stands for.
TokenId Next(std::uint64_t word) {
  const auto draw = static_cast<TokenId>(word % kVocab);
  return draw == 0 && (word >> 40) % 2 == 0 ? kEos : kFirstWord + draw;
}

class Trace {
 public:
  explicit Trace(std::uint64_t seed) : seed_(seed), random_(seed) {}

  TraceReport Run() {
    Start();
    const int num_busy_steps = Pick(20, 250);
    for (int i = 0; i < num_busy_steps && report_.fault.empty(); ++i) {
      Arrive();
      Disturb();
      Step();
    }
    // With nobody arriving and nobody disturbing, each one comes to its end.
    scheduler_->Resume();
    constexpr int kMaxDrain = 20000;
    for (int i = 0; scheduler_->has_unfinished() && report_.fault.empty(); ++i) {
      if (i == kMaxDrain) Fail("requests do not come to their end");
      Step();
    }
    if (!expected_.empty()) Fail("a request ended without a last output");
    if (scheduler_->stats().num_used_blocks != 0) Fail("blocks are held by nobody");
    report_.num_preemptions = scheduler_->stats().num_preemptions;
    report_.num_hits = scheduler_->stats().prefix_hits;
    return report_;
  }

 private:
  // What a request gives when it runs alone, and what it has given so far.
  struct Expected {
    std::vector<TokenId> tokens;
    FinishReason reason = FinishReason::kLength;
    std::vector<TokenId> given;
    int num_prompt_tokens = 0;
    std::size_t num_prompt_logprobs = 0;
    bool may_fail = false;
    bool is_aborted = false;
  };

  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Pick(1, 100) <= percent; }

  void Fail(const std::string& fault) {
    if (report_.fault.empty()) {
      report_.fault = StrCat("seed ", seed_, ", step ", report_.num_steps, ": ", fault);
    }
  }

  void Start() {
    SchedulerConfig config;
    config.block_size = std::vector<int>{1, 2, 4, 8}[static_cast<std::size_t>(Pick(0, 3))];
    config.max_model_len = Pick(8, 64);
    config.enable_prefix_caching = Chance(80);
    config.prefix_hash_algo = Chance(50) ? PrefixHashAlgo::kSha256 : PrefixHashAlgo::kXxhash;
    const std::vector<std::vector<int>> mixes = {{0}, {0}, {0, 5}, {3}, {1}, {4, 0, 9}};
    config.kv_spec = SpecOfWindows(mixes[static_cast<std::size_t>(Pick(0, 5))]);
    SchedulerOptions& options = config.options;
    options.enable_chunked_prefill = Chance(85);
    options.max_num_batched_tokens = Chance(20) ? Pick(1, 4) : Pick(1, 100);
    if (!options.enable_chunked_prefill) options.max_num_batched_tokens += config.max_model_len;
    if (options.enable_chunked_prefill && Chance(40)) {
      options.long_prefill_token_threshold = Pick(1, 20);
    }
    options.max_num_partial_prefills = Chance(50) ? 1 : Pick(1, 4);
    options.max_long_partial_prefills = Pick(1, options.max_num_partial_prefills);
    options.max_num_seqs = Pick(1, 10);
    options.policy = Chance(40) ? SchedulingPolicy::kPriority : SchedulingPolicy::kFcfs;
    options.max_waiting = Pick(5, 30);
    drafts_ = Chance(40) ? Pick(1, 4) : 0;
    failures_ = Chance(10);
    SizePool(config);
    worker_ = std::make_unique<FakeWorker>(config);
    config_ = config;
  }

  // Between just one request's need and several times that.
  void SizePool(SchedulerConfig& config) {
    config.num_blocks = 4096;
    auto kv = KvCacheManager::Create({.spec = config.kv_spec,
                                      .num_blocks = config.num_blocks,
                                      .block_size = config.block_size,
                                      .max_step_tokens = config.max_model_len});
    const auto need = static_cast<int>((*kv)->MaxBlocksPerRequest(config.max_model_len));
    config.num_blocks = need + 1 + (Chance(30) ? 0 : Pick(0, 3 * need));
    auto scheduler = Scheduler::Create(config);
    QUIRE_CHECK(scheduler.ok()) << scheduler.status().message();
    scheduler_ = *std::move(scheduler);
  }

  // A prompt from a small tree of prefixes, so that many share some of it.
  std::vector<TokenId> MakePrompt() {
    const int length = Pick(1, config_.max_model_len - 1);
    std::vector<TokenId> prompt;
    prompt.reserve(static_cast<std::size_t>(length));
    const int num_shared = Chance(70) ? Pick(0, length) : 0;
    const TokenId branch = Pick(0, 2);
    for (int i = 0; i < length; ++i) {
      prompt.push_back(kFirstWord +
                       (i < num_shared ? (i * 5 + branch) % kVocab : Pick(0, kVocab - 1)));
    }
    return prompt;
  }

  void Arrive() {
    for (int i = Chance(30) ? Pick(1, 4) : 0; i > 0; --i) {
      EngineRequest request = RequestOf(next_id_++, MakePrompt(), Pick(1, 20));
      request.priority = Pick(0, 3);
      request.arrival = std::chrono::steady_clock::time_point(std::chrono::seconds(next_id_));
      if (Chance(20)) request.cache_salt = Chance(50) ? "one" : "other";
      if (Chance(15)) request.sampling.prompt_logprobs = 0;
      request.sampling.ignore_eos = Chance(20);
      request.sampling.min_tokens = Chance(20) ? Pick(0, request.max_tokens) : 0;
      const Expected expected = Alone(request);
      const RequestId id = request.id;
      const Status status = scheduler_->Add(std::move(request));
      if (status.ok()) {
        expected_[id] = expected;
      } else if (status.code() != Code::kResourceExhausted) {
        Fail(status.message());
      }
    }
  }

  // The request's tokens by the model and by the rules of stopping, written out once more.
  Expected Alone(const EngineRequest& request) const {
    Expected expected;
    expected.num_prompt_tokens = static_cast<int>(request.prompt.size());
    std::uint64_t word = 0;
    for (const TokenId token : request.prompt) word = FakeWorker::WordOf(word, token);
    const int num_most = std::min(request.max_tokens,
                                  config_.max_model_len - static_cast<int>(request.prompt.size()));
    while (static_cast<int>(expected.tokens.size()) < num_most) {
      expected.tokens.push_back(Next(word));
      word = FakeWorker::WordOf(word, expected.tokens.back());
      const bool may_stop = !request.sampling.ignore_eos &&
                            static_cast<int>(expected.tokens.size()) >= request.sampling.min_tokens;
      if (may_stop && expected.tokens.back() == kEos) {
        expected.reason = FinishReason::kStop;
        break;
      }
    }
    if (request.sampling.prompt_logprobs) expected.num_prompt_logprobs = request.prompt.size();
    return expected;
  }

  void Disturb() {
    if (Chance(5) && !expected_.empty()) {
      auto it = expected_.begin();
      std::advance(it, Pick(0, static_cast<int>(expected_.size()) - 1));
      it->second.is_aborted = true;
      scheduler_->Abort(it->first);
    }
    if (Chance(2)) scheduler_->Pause(Chance(50) ? PauseMode::kKeep : PauseMode::kPreempt);
    if (Chance(20)) scheduler_->Resume();
    if (Chance(2)) {
      const bool is_idle = scheduler_->stats().num_used_blocks == 0;
      if (scheduler_->ResetPrefixCache() != is_idle) Fail("the cache was reset when in use");
    }
  }

  void Step() {
    ++report_.num_steps;
    const StepPlan& plan = scheduler_->Schedule();
    if (plan.empty() && scheduler_->has_unfinished() && !scheduler_->is_paused()) {
      Fail("nothing runs although requests are there");
    }
    if (failures_ && Chance(1)) return FailAll();
    worker_->Execute(OverTheWire(plan));
    if (!worker_->faults.empty()) Fail(worker_->faults[0]);
    CheckPartials(plan);
    const StepResult result = OverTheWire(Sample(plan));
    if (Chance(2) && !plan.empty()) AbortRow(plan);
    for (const EngineCoreOutput& output : scheduler_->Update(result)) Take(output);
    for (const EngineCoreOutput& output : scheduler_->TakeOutputs()) Take(output);
    scheduler_->CheckInvariants();
  }

  // What a worker in another process is given, and what comes back from it.
  StepPlan OverTheWire(const StepPlan& plan) {
    EncodePlan(plan, bytes_);
    StepPlan decoded;
    const Status status = DecodePlan(bytes_, decoded);
    if (!status.ok()) Fail(status.message());
    return decoded;
  }
  StepResult OverTheWire(const StepResult& result) {
    EncodeResult(result, bytes_);
    StepResult decoded;
    const Status status = DecodeResult(bytes_, decoded);
    if (!status.ok()) Fail(status.message());
    return decoded;
  }

  // The executor breaks down before it has done anything of the plan.
  void FailAll() {
    for (auto& [id, expected] : expected_) expected.may_fail = true;
    scheduler_->FailAll(Internal("a failure of the test"));
    for (const EngineCoreOutput& output : scheduler_->TakeOutputs()) Take(output);
    if (!expected_.empty()) Fail("a request outlived the failure of all");
    scheduler_->CheckInvariants();
  }

  void CheckPartials(const StepPlan& plan) {
    int num_partial = 0;
    int num_long = 0;
    const int threshold = config_.options.long_prefill_token_threshold;
    for (const ScheduledRow& row : plan.rows) {
      if (row.samples) continue;
      ++num_partial;
      num_long += threshold > 0 && expected_[row.id].num_prompt_tokens > threshold ? 1 : 0;
    }
    if (num_long > config_.options.max_long_partial_prefills) Fail("too many long prefills");
    if (num_partial > config_.options.max_num_partial_prefills) Fail("too many partial prefills");
  }

  void AbortRow(const StepPlan& plan) {
    const auto at = static_cast<std::size_t>(Pick(0, static_cast<int>(plan.rows.size()) - 1));
    const auto it = expected_.find(plan.rows[at].id);
    if (it == expected_.end()) return;
    it->second.is_aborted = true;
    scheduler_->Abort(it->first);
  }

  StepResult Sample(const StepPlan& plan) {
    StepResult result;
    result.step_id = plan.step_id;
    // A failed row's writes are taken for bad, so it must not be read in the same step.
    const bool has_failure = failures_ && plan.rows.size() == 1 && Chance(10);
    for (const ScheduledRow& row : plan.rows) {
      RowResult& out = result.rows.emplace_back();
      out.id = row.id;
      if (has_failure) {
        out.error = Internal("a failure of the test");
        worker_->Spoil(row);
        expected_[row.id].may_fail = true;
        continue;
      }
      out.prompt_logprobs.resize(static_cast<std::size_t>(row.num_new_tokens));
      if (row.samples) SampleRow(row, out);
    }
    return result;
  }

  void SampleRow(const ScheduledRow& row, RowResult& out) {
    std::uint64_t word = worker_->LastWord(row.id);
    for (std::size_t i = 0; i <= row.draft_tokens.size(); ++i) {
      out.tokens.push_back(Next(word));
      word = FakeWorker::WordOf(word, out.tokens.back());
      if (i < row.draft_tokens.size() && out.tokens.back() != row.draft_tokens[i]) break;
    }
    worker_->Append(row.id, out.tokens);
    for (int i = drafts_ > 0 ? Pick(0, drafts_) : 0; i > 0; --i) {
      out.draft_tokens.push_back(Chance(70) ? Next(word) : kFirstWord);
      word = FakeWorker::WordOf(word, out.draft_tokens.back());
    }
  }

  void Take(const EngineCoreOutput& output) {
    const auto it = expected_.find(output.id);
    if (it == expected_.end()) return Fail("an output for a request that is not there");
    Expected& expected = it->second;
    std::vector<TokenId>& given = expected.given;
    if (given.empty() && !output.new_tokens.empty() &&
        output.new_prompt_logprobs.size() != expected.num_prompt_logprobs) {
      Fail("prompt logprobs are incomplete");
    }
    given.insert(given.end(), output.new_tokens.begin(), output.new_tokens.end());
    if (given.size() > expected.tokens.size() ||
        !std::equal(given.begin(), given.end(), expected.tokens.begin())) {
      Fail("tokens are not those of the request alone");
    }
    if (!output.finish_reason) return;
    const FinishReason reason = *output.finish_reason;
    const bool is_right = reason == FinishReason::kAbort ? expected.is_aborted
                          : reason == FinishReason::kError
                              ? expected.may_fail
                              : reason == expected.reason && given.size() == expected.tokens.size();
    if (!is_right) Fail("a request ended otherwise than alone");
    ++report_.num_finished;
    expected_.erase(it);
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  SchedulerConfig config_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<FakeWorker> worker_;
  std::map<RequestId, Expected> expected_;
  std::int64_t next_id_ = 1;
  int drafts_ = 0;
  bool failures_ = false;
  std::vector<std::uint8_t> bytes_;
  TraceReport report_;
};

}  // namespace

TraceReport RunRandomTrace(std::uint64_t seed) { return Trace(seed).Run(); }

}  // namespace quire
