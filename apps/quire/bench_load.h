// A load of random prompts of one length, run through the engine and timed.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "engine/llm.h"

namespace quire {

struct BenchLoad {
  int num_prompts = 8;
  int input_len = 32;    // tokens of each prompt, chosen at random
  int output_len = 128;  // tokens of each answer, whatever they are
  int n = 1;             // answers of each prompt
  bool detokenize = true;
  std::uint64_t seed = 0;  // of the prompts; another one, other prompts
};

struct BenchTimes {
  double total_s = 0.0;
  double first_token_s = 0.0;  // from the start, mean over the prompts
  double prefill_s = 0.0;      // until every prompt has its first token
  std::int64_t num_output_tokens = 0;
  std::int64_t num_decode_tokens = 0;  // of those, the ones after prefill_s
};

// kInvalidArgument where a length is below 1 or a prompt does not fit into the context;
// kCancelled, without a message, on Ctrl-C. `on_step` hears how many prompts are done and may be
// empty.
Result<BenchTimes> RunLoad(Llm& llm, const BenchLoad& load,
                           const std::function<void(int num_done)>& on_step);

}  // namespace quire
