// Decode rates of a batch of requests with a constraint and without, in turns over one engine:
//
//   constrained_bench [--requests N] [--tokens N] [--rounds N] [--forward-us N] [--model PATH]
//
// Over a device that computes nothing the difference is what constraints cost a step. Over one
// whose forward takes some time beside the processor, as a small model's on a GPU, it is what does
// not fit into that time. A model on this machine tells what that is beside a forward that needs
// the processor itself: the default model where it is there, unless --model names one.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/percentile.h"
#include "base/rng.h"
#include "base/strings.h"
#include "base/test_data.h"
#include "engine/llm.h"
#include "exec/null_executor.h"
#include "model/locate.h"

namespace quire {
namespace {

constexpr int kVocab = 49'152;
constexpr TokenId kEnd = 2;
constexpr int kPromptTokens = 16;

struct Options {
  int num_requests = 64;
  int num_tokens = 64;
  int num_rounds = 5;
  int forward_us = 2000;
  std::string model;  // empty: the default model
};

// A schema of which many tokens are possible nearly everywhere, and the answer is long.
const char kSchema[] =
    R"({"type":"array","minItems":500,"items":{"type":"object","properties":{"name":)"
    R"({"type":"string"},"kind":{"enum":["red","green","blue"]},"size":{"type":"integer"}},)"
    R"("required":["name","kind","size"]}})";

std::vector<PromptInput> Prompts(const Options& options, bool is_constrained) {
  StructuredOutputParams params;
  params.text = kSchema;
  const auto constraint = std::make_shared<const StructuredOutputParams>(std::move(params));
  std::vector<PromptInput> prompts(static_cast<std::size_t>(options.num_requests));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    std::vector<TokenId> ids;
    for (std::uint64_t j = 0; j < kPromptTokens; ++j) {
      ids.push_back(100 + static_cast<TokenId>(UniformDraw(7, i, j) * 20'000));
    }
    prompts[i].token_ids = std::move(ids);
    prompts[i].sampling.temperature = 1.0;
    prompts[i].sampling.seed = static_cast<std::int64_t>(i);
    prompts[i].sampling.max_tokens = options.num_tokens;
    prompts[i].sampling.ignore_eos = !is_constrained;
    if (is_constrained) prompts[i].sampling.structured_outputs = constraint;
  }
  return prompts;
}

// Generated tokens a second.
double Rate(Llm& llm, const Options& options, bool is_constrained) {
  auto prompts = Prompts(options, is_constrained);
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t num_tokens = 0;
  for (const RequestOutput& output : llm.Generate(std::move(prompts), {})) {
    if (!output.error.ok()) std::printf("error: %s\n", output.error.message().c_str());
    for (const auto& answer : output.outputs) {
      num_tokens += static_cast<std::int64_t>(answer.token_ids.size());
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(num_tokens) / time.count();
}

void Compare(const char* name, Llm& llm, const Options& options) {
  for (const bool is_constrained : {false, true}) Rate(llm, options, is_constrained);  // warms up
  std::vector<double> plain;
  std::vector<double> constrained;
  std::vector<double> ratios;
  for (int round = 0; round < options.num_rounds; ++round) {
    plain.push_back(Rate(llm, options, false));
    constrained.push_back(Rate(llm, options, true));
    ratios.push_back(constrained.back() / plain.back());
  }
  const double step_cost = 1e6 / Median(constrained) - 1e6 / Median(plain);
  std::printf(
      "%-14s %10.0f tokens/s without, %10.0f with a constraint: %5.1f %%, %.2f us a token\n", name,
      Median(plain), Median(constrained), 100 * Median(ratios), step_cost);
  std::fflush(stdout);
}

int RunNull(const char* name, const Options& options, std::chrono::microseconds forward) {
  const std::string folder = TestDataPath("tokenizers/real/smollm2");
  if (folder.empty()) {
    std::printf("no reference data: tokenizers/real/smollm2\n");
    return 0;
  }
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = 8192;
  config.scheduler.max_num_seqs = options.num_requests;
  ModelFacts facts = NullExecutor::SmallFacts(kVocab, 4096);
  facts.eos_token_ids = {kEnd};
  auto executor = std::make_unique<NullExecutor>(
      std::move(facts),
      [](RequestId id, std::int32_t idx) {
        return static_cast<TokenId>((id.value() * 7919 + idx * 104'729) % kVocab);
      },
      forward);
  auto llm = Llm::CreateOver(config, std::move(executor), *Tokenizer::FromHfFolder(folder));
  if (!llm.ok()) {
    std::printf("%s\n", llm.status().message().c_str());
    return 1;
  }
  Compare(name, **llm, options);
  return 0;
}

int RunModel(const Options& options) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
  const char* home = std::getenv("HOME");
  const auto model = LocateModel(options.model, {.home = home == nullptr ? "" : home});
  if (!model.ok()) {
    std::printf("no model: %s\n", model.status().message().c_str());
    return 0;
  }
  EngineConfig config;
  config.model.model = *model;
  config.model.generation_config = "vllm";
  config.model.max_model_len = "1024";
  config.scheduler.max_num_seqs = options.num_requests;
  auto llm = Llm::Create(config, {});
  if (!llm.ok()) {
    std::printf("%s\n", llm.status().message().c_str());
    return 1;
  }
  Compare("model", **llm, options);
  return 0;
}

int Run(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    const int number = ParseNumber<int>(value).value_or(1);
    if (name == "--requests") options.num_requests = number;
    if (name == "--tokens") options.num_tokens = number;
    if (name == "--rounds") options.num_rounds = number;
    if (name == "--forward-us") options.forward_us = number;
    if (name == "--model") options.model = value;
  }
  const std::chrono::microseconds forward(options.forward_us);
  if (const int failed = RunNull("null device", options, {}); failed != 0) return failed;
  const std::string name = StrCat("null, ", options.forward_us, " us");
  if (const int failed = RunNull(name.c_str(), options, forward); failed != 0) return failed;
  return RunModel(options);
}

}  // namespace
}  // namespace quire

int main(int argc, char** argv) { return quire::Run(argc, argv); }
