// The engine over whole checkpoints, against what their own implementations compute.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/test_data.h"
#include "engine/llm.h"
#include "formats/json.h"
#include "platform/mapped_file.h"

namespace quire {
namespace {

class TinyCheckpoint : public testing::TestWithParam<const char*> {};

std::vector<TokenId> Ids(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list.array()) ids.push_back(static_cast<TokenId>(id.integer()));
  return ids;
}

EngineConfig Float32(const std::string& folder) {
  EngineConfig config;
  config.model.model = folder;
  config.model.compute_dtype = ComputeDtype::kFloat32;
  config.model.generation_config = "vllm";
  config.scheduler.max_num_seqs = 8;
  config.parallel.threads = 2;
  config.parallel.pin = false;
  return config;
}

PromptInput Greedy(std::vector<TokenId> ids, int max_tokens) {
  PromptInput input;
  input.token_ids = std::move(ids);
  input.sampling.temperature = 0.0;
  input.sampling.max_tokens = max_tokens;
  input.sampling.ignore_eos = true;
  return input;
}

TEST_P(TinyCheckpoint, ContinuesGreedilyAsTheReferenceDoes) {
  const auto folder = TestDataPath(std::string("models-tiny/") + GetParam());
  if (folder.empty()) GTEST_SKIP() << "no models-tiny/" << GetParam() << ": set QUIRE_TEST_DATA";
  const auto text = ReadFile(folder + "/expected.json");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto expected = ParseJson(*text);
  ASSERT_TRUE(expected.ok()) << expected.status().message();

  auto llm = Llm::Create(Float32(folder), {});
  ASSERT_TRUE(llm.ok()) << llm.status().message();
  const JsonArray& prompts = expected->Find("prompts")->array();
  std::vector<PromptInput> inputs;
  for (const Json& prompt : prompts) {
    const int steps = static_cast<int>(prompt.Find("greedy")->array().size());
    inputs.push_back(Greedy(Ids(*prompt.Find("ids")), steps));
    if (prompt.Find("prompt_logprobs") != nullptr) inputs.back().sampling.prompt_logprobs = 0;
  }
  const auto results = (*llm)->Generate(inputs, {});
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_TRUE(results[i].error.ok()) << results[i].error.message();
    // The reference goes on past the end of the context that the checkpoint declares.
    std::vector<TokenId> greedy = Ids(*prompts[i].Find("greedy"));
    const auto room = static_cast<std::size_t>((*llm)->facts().max_positions) -
                      results[i].prompt_token_ids.size();
    greedy.resize(std::min(greedy.size(), room));
    EXPECT_EQ(results[i].outputs[0].token_ids, greedy) << prompts[i].Find("name")->string();
    const Json* logprobs = prompts[i].Find("prompt_logprobs");
    if (logprobs == nullptr) continue;
    ASSERT_EQ(results[i].prompt_logprobs.size(), logprobs->array().size());
    for (std::size_t j = 1; j < logprobs->array().size(); ++j) {
      EXPECT_NEAR(results[i].prompt_logprobs[j].entries.at(0).logprob,
                  logprobs->array()[j].number(), 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Llama, TinyCheckpoint,
                         testing::Values("llama-gqa-untied", "llama-mha-tied-f32", "llama-bias-mqa",
                                         "llama-headdim-f16", "llama-sharded", "llama-config-v5",
                                         "llama-rope-linear", "llama-rope-llama3",
                                         "llama-rope-yarn", "llama-rope-dynamic-fixed"));
INSTANTIATE_TEST_SUITE_P(Others, TinyCheckpoint,
                         testing::Values("mistral-window", "qwen2-tied", "qwen2-window", "qwen3"));

TEST(TinyTokenizer, AnswersTextWithText) {
  const auto folder = TestDataPath("models-tiny/llama-gqa-untied");
  if (folder.empty()) GTEST_SKIP() << "no models-tiny/llama-gqa-untied: set QUIRE_TEST_DATA";
  auto llm = Llm::Create(Float32(folder), {});
  ASSERT_TRUE(llm.ok()) << llm.status().message();
  ASSERT_TRUE((*llm)->has_tokenizer());
  PromptInput input;
  input.text = "The licence grants";
  input.sampling.temperature = 0.0;
  input.sampling.max_tokens = 12;
  input.sampling.ignore_eos = true;
  const auto results = (*llm)->Generate({input}, {});
  ASSERT_TRUE(results[0].error.ok()) << results[0].error.message();
  const CompletionOutput& answer = results[0].outputs[0];
  std::vector<TokenId> all = results[0].prompt_token_ids;
  const std::string prompt = (*llm)->tokenizer().Decode(all);
  all.insert(all.end(), answer.token_ids.begin(), answer.token_ids.end());
  EXPECT_EQ(prompt + answer.text, (*llm)->tokenizer().Decode(all));
}

}  // namespace
}  // namespace quire
