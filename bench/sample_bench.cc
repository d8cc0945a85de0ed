// The sampler's time for one token, over vocabularies of the sizes of real models.
#include <cmath>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "sample/sampler.h"

namespace quire {
namespace {

// Logits as a language model's mostly are: near normal, and a few tokens well above the rest.
std::vector<float> ModelLikeLogits(int vocab_size) {
  std::vector<float> logits;
  for (int i = 0; i < vocab_size; ++i) {
    const auto position = static_cast<std::uint64_t>(i);
    const double radius = std::sqrt(-2.0 * std::log(1.0 - UniformDraw(1, position, 0)));
    const double normal = radius * std::cos(6.283185307179586 * UniformDraw(1, position, 1));
    const bool is_likely = i % (vocab_size / 20) == 0;
    logits.push_back(static_cast<float>(2.5 * normal + (is_likely ? 14.0 : 0.0)));
  }
  return logits;
}

void SampleOne(benchmark::State& state, const SamplingParams& params) {
  const auto vocab_size = static_cast<std::int32_t>(state.range(0));
  const kernels::CpuTable table = kernels::MakeTable(*kernels::ChooseIsa());
  ThreadPool pool({.num_threads = 1, .pin = false});
  ops::Scratch scratch;
  ops::OpContext ctx = {.table = &table, .pool = &pool, .scratch = &scratch};
  Sampler sampler(vocab_size);
  const std::vector<float> logits = ModelLikeLogits(vocab_size);
  std::vector<float> work = logits;
  std::vector<SampledToken> out;
  SamplingRow row = {.params = &params, .seed = 0, .prompt = {}, .output = {}, .eos_token_ids = {}};
  for (auto _ : state) {
    std::copy(logits.begin(), logits.end(), work.begin());
    ++row.seed;
    sampler.Sample(ctx, F32View(work.data(), {1, vocab_size}), {&row, 1}, out);
    benchmark::DoNotOptimize(out.front().token);
  }
}

void Greedy(benchmark::State& state) {
  SamplingParams params;
  params.temperature = 0.0;
  SampleOne(state, params);
}
void Temperature(benchmark::State& state) {
  SamplingParams params;
  params.temperature = 0.7;
  SampleOne(state, params);
}
void TopKTopP(benchmark::State& state) {
  SamplingParams params;
  params.temperature = 0.7;
  params.top_k = 50;
  params.top_p = 0.95;
  SampleOne(state, params);
}
void TopP(benchmark::State& state) {
  SamplingParams params;
  params.top_p = 0.95;
  SampleOne(state, params);
}
void MinP(benchmark::State& state) {
  SamplingParams params;
  params.min_p = 0.05;
  SampleOne(state, params);
}
void GreedyWithLogprobs(benchmark::State& state) {
  SamplingParams params;
  params.temperature = 0.0;
  params.logprobs = 20;
  SampleOne(state, params);
}

// Vocabularies of SmolLM2, Qwen3 and Gemma 3.
void Vocabularies(benchmark::internal::Benchmark* bench) {
  bench->Arg(49152)->Arg(151936)->Arg(262144)->Unit(benchmark::kMicrosecond);
}
BENCHMARK(Greedy)->Apply(Vocabularies);
BENCHMARK(Temperature)->Apply(Vocabularies);
BENCHMARK(TopKTopP)->Apply(Vocabularies);
BENCHMARK(TopP)->Apply(Vocabularies);
BENCHMARK(MinP)->Apply(Vocabularies);
BENCHMARK(GreedyWithLogprobs)->Apply(Vocabularies);

}  // namespace
}  // namespace quire

BENCHMARK_MAIN();
