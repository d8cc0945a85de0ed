// A million requests through the engine over the null device: memory stays where it was after the
// first ten thousand.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "engine/llm.h"
#include "exec/null_executor.h"

namespace quire {
namespace {

constexpr int kVocab = 1000;

// Of this process, in kB.
std::int64_t ResidentMemory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::int64_t value = 0;
    if (word == "VmRSS:" && status >> value) return value;
  }
  return 0;
}

std::unique_ptr<Llm> MakeLlm() {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = 4096;
  config.scheduler.max_num_seqs = 256;
  config.scheduler.max_num_batched_tokens = 8192;
  auto llm = Llm::CreateOver(
      config,
      std::make_unique<NullExecutor>(NullExecutor::SmallFacts(kVocab, 1024),
                                     [](RequestId id, std::int32_t idx) {
                                       return static_cast<TokenId>((id.value() + idx) % kVocab);
                                     }),
      nullptr);
  QUIRE_CHECK(llm.ok()) << llm.status().message();
  return *std::move(llm);
}

// Keeps about 400 prompts alive until `count` have been submitted and answered.
void Serve(Llm& llm, std::int64_t count) {
  std::vector<RequestOutput> outputs;
  std::int64_t submitted = 0;
  std::int64_t live = 0;
  while (submitted < count || live > 0) {
    for (; live < 400 && submitted < count; ++live, ++submitted) {
      PromptInput input;
      const auto number = static_cast<int>(submitted % 100000);
      input.token_ids.emplace();
      for (int i = 0; i < 8 + number % 60; ++i) {
        input.token_ids->push_back((number * 7 + i * (1 + number % 13)) % kVocab);
      }
      input.sampling.max_tokens = 1 + number % 16;
      input.sampling.output_kind = OutputKind::kFinalOnly;
      const Status status = llm.Submit(std::to_string(submitted), std::move(input));
      QUIRE_CHECK(status.ok()) << status.message();
    }
    const Status status = llm.Step(outputs);
    QUIRE_CHECK(status.ok()) << status.message();
    for (const RequestOutput& output : outputs) live -= output.is_finished ? 1 : 0;
  }
}

TEST(Soak, AMillionRequestsLeaveMemoryAsItWas) {
  const auto llm = MakeLlm();
  Serve(*llm, 10000);
  const std::int64_t before = ResidentMemory();
  Serve(*llm, 1000000);
  const std::int64_t after = ResidentMemory();
  EXPECT_LE(after, before + before / 50) << "kB resident before: " << before;
  EXPECT_EQ(llm->stats().num_used_blocks, 0);
}

}  // namespace
}  // namespace quire
