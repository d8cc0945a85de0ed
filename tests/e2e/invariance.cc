#include "invariance.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/rng.h"
#include "base/strings.h"

namespace quire {
namespace {

void AppendBits(const std::vector<PositionLogprobs>& positions, std::vector<std::uint64_t>& out) {
  for (const PositionLogprobs& position : positions) {
    for (const TokenLogprob& entry : position.entries) {
      out.push_back((static_cast<std::uint64_t>(entry.token) << 32) |
                    std::bit_cast<std::uint32_t>(entry.logprob));
    }
  }
}

int Draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t index, int end) {
  return static_cast<int>(UniformDraw(seed, stream, index) * end);
}

// One of eight kinds of sampling, told by the prompt's number.
void SetSampling(int number, std::uint64_t seed, SamplingParams& sampling) {
  sampling.temperature = 0.0;
  sampling.seed = seed + static_cast<std::uint64_t>(number);
  switch (number % 8) {
    case 1:
      sampling.temperature = 0.8;
      sampling.top_p = 0.9;
      break;
    case 2:
      sampling.temperature = 1.0;
      sampling.top_k = 20;
      sampling.logprobs = 3;
      break;
    case 3:
      sampling.repetition_penalty = 1.3;
      sampling.logprobs = 1;
      break;
    case 4:
      sampling.temperature = 1.2;
      sampling.min_p = 0.05;
      sampling.presence_penalty = 0.5;
      break;
    case 5:
      sampling.prompt_logprobs = 2;
      sampling.logprobs = 0;
      break;
    case 6:
      sampling.temperature = 0.7;
      sampling.frequency_penalty = 0.4;
      sampling.logit_bias = {{7, 2.0F}, {9, -3.0F}};
      break;
    default:
      break;
  }
}

}  // namespace

Answer ReduceToBits(const RequestOutput& output) {
  Answer answer;
  answer.error = output.error.message();
  AppendBits(output.prompt_logprobs, answer.logprobs);
  for (const CompletionOutput& completion : output.outputs) {
    answer.tokens.insert(answer.tokens.end(), completion.token_ids.begin(),
                         completion.token_ids.end());
    AppendBits(completion.logprobs, answer.logprobs);
  }
  return answer;
}

std::vector<PromptInput> MixedPrompts(int count, int vocab_size, int max_prompt,
                                      std::uint64_t seed) {
  std::vector<PromptInput> prompts(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    const int length = 1 + Draw(seed, number, 0, max_prompt);
    // Every third prompt begins as all others of its kind do.
    const std::uint64_t shared = i % 3 == 0 ? 1000000 : number;
    std::vector<TokenId> ids;
    for (int j = 0; j < length; ++j) {
      const bool is_shared = j < length - length / 4;
      ids.push_back(
          Draw(seed + 1, is_shared ? shared : number, static_cast<std::uint64_t>(j), vocab_size));
    }
    PromptInput& prompt = prompts[static_cast<std::size_t>(i)];
    prompt.token_ids = std::move(ids);
    prompt.sampling.max_tokens = 4 + Draw(seed, number, 1, 20);
    prompt.sampling.ignore_eos = i % 2 == 0;
    prompt.sampling.output_kind = OutputKind::kFinalOnly;
    SetSampling(i, seed, prompt.sampling);
  }
  return prompts;
}

EngineConfig InvarianceConfig(const std::string& model) {
  EngineConfig config;
  config.model.model = model;
  config.model.generation_config = "vllm";
  config.cache.enable_prefix_caching = false;
  config.scheduler.max_num_seqs = 64;
  config.parallel.threads = 2;
  config.parallel.pin = false;
  return config;
}

std::unique_ptr<Llm> OpenLlm(const EngineConfig& config) {
  auto llm = Llm::Create(config, {});
  QUIRE_CHECK(llm.ok()) << llm.status().message();
  return *std::move(llm);
}

std::vector<Answer> RunAlone(const EngineConfig& config, const std::vector<PromptInput>& prompts) {
  const auto llm = OpenLlm(config);
  std::vector<Answer> answers;
  for (const PromptInput& prompt : prompts) {
    answers.push_back(ReduceToBits(llm->Generate({prompt}, {}).at(0)));
  }
  return answers;
}

std::vector<Answer> RunTogether(Llm& llm, const std::vector<PromptInput>& prompts,
                                std::uint64_t shuffle_seed) {
  std::vector<std::size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffle_seed != 0) {
    std::ranges::sort(order, {}, [&](std::size_t i) { return UniformDraw(shuffle_seed, i, 0); });
  }
  std::vector<Answer> answers(prompts.size());
  std::vector<RequestOutput> outputs;
  std::size_t next = 0;
  while (next < order.size() || llm.has_unfinished()) {
    const int arriving =
        shuffle_seed == 0 ? static_cast<int>(order.size()) : Draw(shuffle_seed, 1u << 20, next, 6);
    for (int i = 0; i < arriving && next < order.size(); ++i) {
      const std::size_t prompt = order[next++];
      const Status status = llm.Submit(StrCat(prompt), prompts[prompt]);
      QUIRE_CHECK(status.ok()) << status.message();
    }
    const Status status = llm.Step(outputs);
    QUIRE_CHECK(status.ok()) << status.message();
    for (const RequestOutput& output : outputs) {
      answers[*ParseNumber<std::size_t>(output.request_id)] = ReduceToBits(output);
    }
    if (arriving == 0 && !llm.has_unfinished() && next < order.size()) {
      const std::size_t prompt = order[next++];
      QUIRE_CHECK(llm.Submit(StrCat(prompt), prompts[prompt]).ok());
    }
  }
  return answers;
}

void ExpectSame(const std::vector<Answer>& expected, const std::vector<Answer>& answers,
                const std::string& how) {
  ASSERT_EQ(expected.size(), answers.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].error, "");
    EXPECT_EQ(expected[i], answers[i]) << "prompt " << i << " " << how;
  }
}

}  // namespace quire
