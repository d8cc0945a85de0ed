// What constraints cost: compiling the realistic schemas of the reference data, and masks over a
// vocabulary of 49,152 tokens. Medians and 99th percentiles stand in the counters, in microseconds.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/test_data.h"
#include "formats/json.h"
#include "structured/backend.h"
#include "structured/constraint.h"
#include "structured/grammar_cache.h"

namespace quire {
namespace {

constexpr TokenId kEnd = 2;

struct Sample {
  StructuredOutputParams params;
  std::vector<std::string> texts;  // that conform
};

struct Data {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const GrammarBackend> backend;
  std::vector<Sample> samples;
};

// Null where the reference data is absent.
const Data* Loaded() {
  static const Data* data = []() -> const Data* {
    const std::string folder = TestDataPath("tokenizers/real/smollm2");
    std::ifstream lines(TestDataPath("schemas/schemas.jsonl"));
    if (folder.empty() || !lines) return nullptr;
    auto made = std::make_unique<Data>();
    made->tokenizer = *Tokenizer::FromHfFolder(folder);
    made->backend =
        *CreateXgrammarBackend(MakeConstraintVocabulary(*made->tokenizer, 49152, {kEnd}));
    std::string line;
    while (std::getline(lines, line)) {
      const Json row = *ParseJson(line);
      Sample& sample = made->samples.emplace_back();
      sample.params.text = row.Find("schema")->Dump();
      for (const Json& one : row.Find("cases")->array()) {
        if (one.Find("valid")->boolean()) sample.texts.push_back(one.Find("instance")->Dump());
      }
    }
    return made.release();
  }();
  return data;
}

void Report(benchmark::State& state, std::vector<double>& times) {
  if (times.empty()) return;
  std::ranges::sort(times);
  state.counters["median"] = times[times.size() / 2];
  state.counters["p99"] = times[times.size() * 99 / 100];
  state.counters["most"] = times.back();
}

template <typename Body>
double Microseconds(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

void CompileSchemas(benchmark::State& state) {
  const Data* data = Loaded();
  if (data == nullptr) return state.SkipWithError("no reference data");
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) {
    for (const Sample& sample : data->samples) {
      times.push_back(Microseconds([&] {
        benchmark::DoNotOptimize(data->backend->Compile(*GrammarOf(sample.params)).ok());
      }));
    }
  }
  Report(state, times);
}
BENCHMARK(CompileSchemas)->Unit(benchmark::kMillisecond);

void CompileCached(benchmark::State& state) {
  const Data* data = Loaded();
  if (data == nullptr) return state.SkipWithError("no reference data");
  GrammarCache cache({.vocab_size = 49152, .end_ids = {kEnd}}, data->tokenizer);
  for (const Sample& sample : data->samples) {
    benchmark::DoNotOptimize(cache.Compile(sample.params).ok());
  }
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) {
    for (const Sample& sample : data->samples) {
      times.push_back(
          Microseconds([&] { benchmark::DoNotOptimize(cache.Compile(sample.params).ok()); }));
    }
  }
  Report(state, times);
}
BENCHMARK(CompileCached)->Unit(benchmark::kMillisecond);

// Masks of all instances' steps; `state.range(0)`: how often each was made before.
void FillMasks(benchmark::State& state) {
  const Data* data = Loaded();
  if (data == nullptr) return state.SkipWithError("no reference data");
  std::vector<std::uint32_t> mask(data->backend->num_mask_words());
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) {
    for (const Sample& sample : data->samples) {
      const auto grammar = *data->backend->Compile(*GrammarOf(sample.params));
      for (int round = 0; round <= state.range(0); ++round) {
        for (const std::string& text : sample.texts) {
          const auto matcher = grammar->NewMatcher();
          const std::vector<TokenId> ids =
              *data->tokenizer->Encode(text, {.add_special_tokens = false});
          for (const TokenId id : ids) {
            const double time = Microseconds([&] { matcher->Fill(mask); });
            if (round == state.range(0)) times.push_back(time);
            if (!matcher->Accept(id)) break;
          }
        }
      }
    }
  }
  Report(state, times);
}
BENCHMARK(FillMasks)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace quire

BENCHMARK_MAIN();
