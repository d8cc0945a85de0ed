// A decode step allocates nothing once it is warm: the whole turn of the engine core, over the null
// device and over a real model.
#include <cstdio>

#include <gtest/gtest.h>

#include "base/count_allocations.h"
#include "engine/assemble.h"
#include "engine/step_bench.h"
#include "tiny_model.h"

namespace quire {
namespace {

TEST(Allocations, TheControlPlanesDecodeStepMakesNone) {
  StepBenchOptions options;
  options.num_running = 64;
  options.num_steps = 300;
  options.count_allocations = NumAllocations;
  const auto result = BenchStep(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->allocations_per_step, 0.0);
}

TEST(Allocations, AModelsDecodeStepMakesNone) {
  const std::string folder = testing::TempDir() + "quire_tiny_allocations";
  ASSERT_TRUE(WriteTinyModel(folder).ok());
  EngineConfig config;
  config.model.model = folder;
  config.scheduler.max_num_seqs = 8;
  config.parallel.threads = 2;
  config.parallel.pin = false;
  auto parts = LoadEngine(config, {});
  ASSERT_TRUE(parts.ok()) << parts.status().message();
  for (int i = 0; i < 8; ++i) {
    EngineRequest request;
    request.id = RequestId(i);
    request.prompt = {10 + i, 20, 30 + i};
    request.max_tokens = 200;
    request.sampling.max_tokens = 200;
    request.sampling.ignore_eos = true;
    request.sampling.temperature = i % 2 == 0 ? 0.0 : 0.9;
    request.sampling.top_k = i % 4 == 3 ? 20 : 0;
    request.sampling.repetition_penalty = i == 6 ? 1.2 : 1.0;
    request.seed = static_cast<std::uint64_t>(i);
    ASSERT_TRUE(parts->core->Add(std::move(request)).ok());
  }
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(parts->core->Step().ok());
  const std::int64_t before = NumAllocations();
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(parts->core->Step().ok());
  EXPECT_EQ(NumAllocations() - before, 0);
}

}  // namespace
}  // namespace quire
