// Counts heap allocations of this test program.
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace {
std::int64_t num_allocations = 0;
}  // namespace

// The sanitizers' own operators stay as they are, and the test then sees no allocation at all.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) {
  ++num_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
#endif

namespace quire {
namespace {

TEST(SchedulerAllocation, ADecodeStepAllocatesNothingOnceItIsWarm) {
  SchedulerConfig config = SmallConfig();
  config.options.max_num_batched_tokens = 512;
  config.options.max_num_seqs = 64;
  config.num_blocks = 8000;
  config.max_model_len = 512;
  config.kv_spec = SpecOfWindows({0, 9});
  auto scheduler = *Scheduler::Create(config);
  for (int id = 0; id < 64; ++id) {
    std::vector<TokenId> prompt(static_cast<std::size_t>(1 + id % 7), id);
    ASSERT_TRUE(scheduler->Add(RequestOf(id, std::move(prompt), 400)).ok());
  }
  StepResult result;
  const auto turn = [&] {
    const StepPlan& plan = scheduler->Schedule();
    result.step_id = plan.step_id;
    result.rows.resize(plan.rows.size());
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      result.rows[i].id = plan.rows[i].id;
      result.rows[i].tokens.assign(1, static_cast<TokenId>(10 + i));
    }
    scheduler->Update(result);
  };
  // Two blocks' worth of steps show each row and its lists once.
  for (int i = 0; i < 2 * config.block_size + 2; ++i) turn();
  const std::int64_t before = num_allocations;
  for (int i = 0; i < 300; ++i) turn();
  EXPECT_EQ(num_allocations - before, 0);
  EXPECT_EQ(scheduler->stats().num_running, 64);
}

}  // namespace
}  // namespace quire
