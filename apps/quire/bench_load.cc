#include "apps/quire/bench_load.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "apps/quire/interrupt.h"
#include "base/rng.h"
#include "base/strings.h"

namespace quire {

namespace {

using Clock = std::chrono::steady_clock;

Status Check(const Llm& llm, const BenchLoad& load) {
  const auto positive = [](const char* name, int value) {
    if (value >= 1) return Status();
    return InvalidArgument(StrCat("--", name, ": must be at least 1, got ", value));
  };
  QUIRE_RETURN_IF_ERROR(positive("input-len", load.input_len));
  QUIRE_RETURN_IF_ERROR(positive("output-len", load.output_len));
  QUIRE_RETURN_IF_ERROR(positive("n", load.n));
  const std::int64_t wanted = std::int64_t{load.input_len} + load.output_len;
  if (wanted > llm.decisions().plan.max_model_len) {
    return InvalidArgument(StrCat("--input-len and --output-len: ", wanted,
                                  " tokens do not fit into the context of ",
                                  llm.decisions().plan.max_model_len));
  }
  return {};
}

PromptInput RandomPrompt(const Llm& llm, const BenchLoad& load, int index) {
  PromptInput input;
  input.token_ids.emplace();
  const double vocab = static_cast<double>(llm.facts().vocab_size);
  for (int i = 0; i < load.input_len; ++i) {
    const double draw =
        UniformDraw(load.seed, static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(i));
    input.token_ids->push_back(static_cast<TokenId>(draw * vocab));
  }
  input.sampling.n = load.n;
  input.sampling.max_tokens = load.output_len;
  input.sampling.ignore_eos = true;
  input.sampling.detokenize = load.detokenize;
  input.sampling.output_kind = OutputKind::kDelta;
  return input;
}

// What came out of the steps so far.
class LoadWatch {
 public:
  explicit LoadWatch(const BenchLoad& load)
      : start_(Clock::now()), has_token_(static_cast<std::size_t>(load.num_prompts)) {}

  Status Take(const std::vector<RequestOutput>& outputs) {
    const double now = std::chrono::duration<double>(Clock::now() - start_).count();
    const bool was_prefilled = num_first_ == has_token_.size();
    for (const RequestOutput& output : outputs) {
      QUIRE_RETURN_IF_ERROR(output.error);
      std::int64_t tokens = 0;
      for (const CompletionOutput& one : output.outputs) {
        tokens += static_cast<std::int64_t>(one.token_ids.size());
      }
      times_.num_output_tokens += tokens;
      if (was_prefilled) times_.num_decode_tokens += tokens;
      const std::size_t index = std::stoul(output.request_id);
      if (tokens > 0 && !has_token_[index]) {
        has_token_[index] = true;
        ++num_first_;
        times_.first_token_s += now / static_cast<double>(has_token_.size());
        times_.prefill_s = now;
      }
      if (output.is_finished) ++num_done_;
    }
    times_.total_s = now;
    return {};
  }

  int num_done() const { return num_done_; }
  const BenchTimes& times() const { return times_; }

 private:
  Clock::time_point start_;
  BenchTimes times_;
  std::vector<bool> has_token_;  // by prompt
  std::size_t num_first_ = 0;
  int num_done_ = 0;
};

}  // namespace

Result<BenchTimes> RunLoad(Llm& llm, const BenchLoad& load,
                           const std::function<void(int num_done)>& on_step) {
  QUIRE_RETURN_IF_ERROR(Check(llm, load));
  std::vector<PromptInput> prompts;
  prompts.reserve(static_cast<std::size_t>(load.num_prompts));
  for (int i = 0; i < load.num_prompts; ++i) prompts.push_back(RandomPrompt(llm, load, i));
  const InterruptScope interrupts;
  LoadWatch watch(load);
  for (int i = 0; i < load.num_prompts; ++i) {
    QUIRE_RETURN_IF_ERROR(
        llm.Submit(std::to_string(i), std::move(prompts[static_cast<std::size_t>(i)])));
  }
  std::vector<RequestOutput> outputs;
  while (llm.has_unfinished()) {
    if (IsInterrupted()) return Status(Code::kCancelled, "");
    QUIRE_RETURN_IF_ERROR(llm.Step(outputs));
    QUIRE_RETURN_IF_ERROR(watch.Take(outputs));
    if (on_step) on_step(watch.num_done());
  }
  return watch.times();
}

}  // namespace quire
