// The control plane without a model: what a step, an admission and a block's hash cost.
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "kv/prefix_hash.h"
#include "sched/scheduler.h"

namespace quire {
namespace {

constexpr int kBlockSize = 16;
constexpr int kMaxModelLen = 32768;

std::vector<TokenId> Tokens(std::int64_t count, TokenId first) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

SchedulerConfig ConfigFor(int max_num_seqs, std::int64_t num_blocks) {
  SchedulerConfig config;
  config.options.max_num_seqs = max_num_seqs;
  config.options.max_num_batched_tokens = kMaxModelLen;
  config.kv_spec.groups.resize(1);
  config.num_blocks = num_blocks;
  config.block_size = kBlockSize;
  config.max_model_len = kMaxModelLen;
  config.prefix_hash_algo = PrefixHashAlgo::kXxhash;
  return config;
}

EngineRequest RequestOf(std::int64_t id, std::vector<TokenId> prompt, int max_tokens) {
  EngineRequest request;
  request.id = RequestId(id);
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.eos_token_ids = {2};
  return request;
}

// The result that a device which costs nothing gives, in reused memory.
void FillResult(const StepPlan& plan, StepResult& result) {
  result.step_id = plan.step_id;
  result.rows.resize(plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    result.rows[i].id = plan.rows[i].id;
    result.rows[i].tokens.assign(plan.rows[i].samples ? 1 : 0, static_cast<TokenId>(7 + i % 5));
  }
}

// A scheduler with `num_running` requests in the middle of their answers.
class DecodeLoad {
 public:
  explicit DecodeLoad(int num_running)
      : num_running_(num_running),
        scheduler_(*Scheduler::Create(ConfigFor(num_running, 1 << 19))) {}

  // Adds the requests and computes their prompts, of different lengths so that a sixteenth of them
  // needs a block each step.
  void Refill() {
    for (int i = 0; i < num_running_; ++i) {
      const std::int64_t id = next_id_++;
      const std::int64_t length = 100 + id % kBlockSize;
      auto prompt = Tokens(length, static_cast<TokenId>(id * 1000));
      QUIRE_CHECK(scheduler_->Add(RequestOf(id, std::move(prompt), 4000)).ok());
    }
    while (scheduler_->stats().num_waiting > 0) Step();
    for (int i = 0; i < 2 * kBlockSize; ++i) Step();
  }

  void Step() {
    FillResult(scheduler_->Schedule(), result_);
    benchmark::DoNotOptimize(scheduler_->Update(result_).data());
  }

  bool is_done() const { return !scheduler_->has_unfinished(); }

 private:
  int num_running_;
  std::unique_ptr<Scheduler> scheduler_;
  StepResult result_;
  std::int64_t next_id_ = 0;
};

// Schedule and Update of a step in which all requests decode.
void BM_DecodeStep(benchmark::State& state) {
  DecodeLoad load(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    if (load.is_done()) {
      state.PauseTiming();
      load.Refill();
      state.ResumeTiming();
    }
    load.Step();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_DecodeStep)->Arg(1)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMicrosecond);

// From Add to the end of the first Schedule, for a prompt of which all but the last block is
// cached.
void BM_AdmitWithPrefixHit(benchmark::State& state) {
  auto scheduler = *Scheduler::Create(ConfigFor(8, 1 << 14));
  const std::vector<TokenId> prompt = Tokens(state.range(0), 5);
  StepResult result;
  std::int64_t next_id = 0;
  const auto finish = [&] {
    while (scheduler->has_unfinished()) {
      FillResult(scheduler->Schedule(), result);
      scheduler->Update(result);
    }
  };
  QUIRE_CHECK(scheduler->Add(RequestOf(next_id++, prompt, 1)).ok());
  finish();
  for (auto _ : state) {
    state.PauseTiming();
    EngineRequest request = RequestOf(next_id++, prompt, 1);
    state.ResumeTiming();
    QUIRE_CHECK(scheduler->Add(std::move(request)).ok());
    FillResult(scheduler->Schedule(), result);
    state.PauseTiming();
    scheduler->Update(result);
    finish();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_AdmitWithPrefixHit)->Arg(4096)->Arg(16384)->Unit(benchmark::kMicrosecond);

void BM_PrefixHash(benchmark::State& state) {
  const auto algo = static_cast<PrefixHashAlgo>(state.range(0));
  const std::vector<TokenId> tokens = Tokens(1 << 16, 5);
  PrefixHasher hasher(algo, kBlockSize);
  std::vector<BlockHash> hashes;
  for (auto _ : state) {
    hashes.clear();
    hasher.Extend(tokens, {}, hashes);
    benchmark::DoNotOptimize(hashes.data());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(sizeof(TokenId) * tokens.size()));
  state.SetLabel(algo == PrefixHashAlgo::kSha256 ? "sha256" : "xxhash");
}
BENCHMARK(BM_PrefixHash)
    ->Arg(static_cast<int>(PrefixHashAlgo::kSha256))
    ->Arg(static_cast<int>(PrefixHashAlgo::kXxhash));

// A chat of 16k tokens that grows by a turn: only the new blocks are hashed.
void BM_PrefixHashOfANewTurn(benchmark::State& state) {
  constexpr std::size_t kTurn = 256;
  const std::vector<TokenId> tokens = Tokens((1 << 14) + kTurn, 5);
  PrefixHasher hasher(static_cast<PrefixHashAlgo>(state.range(0)), kBlockSize);
  std::vector<BlockHash> hashes;
  hasher.Extend(std::span(tokens).first(1 << 14), {}, hashes);
  const std::size_t num_before = hashes.size();
  hashes.reserve(num_before + kTurn);
  for (auto _ : state) {
    hashes.resize(num_before);
    hasher.Extend(tokens, {}, hashes);
    benchmark::DoNotOptimize(hashes.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(sizeof(TokenId) * kTurn));
}
BENCHMARK(BM_PrefixHashOfANewTurn)
    ->Arg(static_cast<int>(PrefixHashAlgo::kSha256))
    ->Arg(static_cast<int>(PrefixHashAlgo::kXxhash));

}  // namespace
}  // namespace quire

BENCHMARK_MAIN();
