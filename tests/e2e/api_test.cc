// The public C++ interface, over a tiny model.
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "quire/engine.h"
#include "tiny_model.h"

namespace quire::api {
namespace {

std::string TinyModel() {
  const std::string folder = testing::TempDir() + "quire_tiny_api";
  EXPECT_TRUE(WriteTinyModel(folder).ok());
  EXPECT_TRUE(WriteTinyTokenizer(folder).ok());
  return folder;
}

Options Small() { return Options().Set("max-num-seqs", 8).Set("pin", false); }

TEST(PublicLlm, AnswersABatchInOrder) {
  auto llm = LLM::Create(TinyModel(), Small());
  ASSERT_TRUE(llm.ok()) << llm.status().message();
  EXPECT_EQ(llm->max_model_len(), kTinyContext);
  EXPECT_FALSE(llm->decisions().empty());
  int num_calls = 0;
  Progress last;
  const auto outputs =
      llm->Generate({"one", Prompt(std::vector<TokenId>{5, 6}), std::string(600, 'x')},
                    Options().Set("temperature", 0.0).Set("max_tokens", 5).Set("ignore_eos", true),
                    [&](const Progress& progress) {
                      ++num_calls;
                      last = progress;
                    });
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 3U);
  EXPECT_EQ((*outputs)[0].completions[0].token_ids.size(), 5U);
  EXPECT_EQ((*outputs)[0].completions[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ((*outputs)[1].prompt_token_ids, (std::vector<TokenId>{5, 6}));
  EXPECT_EQ((*outputs)[2].status.code(), Code::kInvalidArgument);
  EXPECT_GT(num_calls, 0);
  EXPECT_EQ(last.num_finished, 3);
  EXPECT_EQ(last.num_generated_tokens, 10);
}

TEST(PublicLlm, TokenizesAndBack) {
  auto llm = LLM::Create(TinyModel(), Small());
  ASSERT_TRUE(llm.ok());
  const auto ids = llm->Tokenize("hello");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*llm->Detokenize(*ids), "hello");
}

TEST(PublicLlm, AnswersAChatByTheModelsTemplate) {
  auto llm = LLM::Create(TinyModel(), Small());
  ASSERT_TRUE(llm.ok());
  const auto output =
      llm->Chat({{.role = "system", .content = "be brief"}, {.role = "user", .content = "hi"}},
                Options().Set("max_tokens", 3).Set("ignore_eos", true));
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(*llm->Detokenize(output->prompt_token_ids), "system: be brief\nuser: hi\nassistant:");
  EXPECT_EQ(output->completions.at(0).token_ids.size(), 3U);
  EXPECT_FALSE(llm->Chat({}).ok());
}

TEST(PublicLlm, NamesTheOptionThatItDoesNotKnow) {
  const auto engine = LLM::Create("nowhere", Options().Set("max-num-seq", 8));
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), Code::kInvalidArgument);
  EXPECT_NE(engine.status().message().find("max-num-seqs"), std::string::npos);
  auto llm = LLM::Create(TinyModel(), Small());
  ASSERT_TRUE(llm.ok());
  const auto outputs = llm->Generate({"x"}, Options().Set("temprature", 1.0));
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.status().message().find("temperature"), std::string::npos);
}

TEST(PublicAsyncEngine, StreamsDeltasThatAreTheBatchsText) {
  const std::string model = TinyModel();
  const auto sampling = Options().Set("temperature", 0.0).Set("max_tokens", 12);
  std::string expected;
  {
    auto llm = LLM::Create(model, Small());
    ASSERT_TRUE(llm.ok());
    expected = (*llm->Generate({"hello"}, sampling))[0].completions[0].text;
  }
  auto engine = AsyncEngine::Create(model, Small());
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  std::string text;
  bool is_finished = false;
  const Status status = engine->Submit("r", "hello", sampling, [&](const Output& output) {
    for (const Completion& answer : output.completions) text += answer.text;
    is_finished = output.is_finished;
  });
  ASSERT_TRUE(status.ok()) << status.message();
  engine->Drain();
  EXPECT_TRUE(is_finished);
  EXPECT_EQ(text, expected);
  engine->Shutdown(0);
  EXPECT_EQ(engine->Submit("s", "x", sampling, {}).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quire::api
