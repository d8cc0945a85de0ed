#include "config/generation_config.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace quire {
namespace {

Result<GenerationConfig> Parse(std::string_view text) {
  const auto value = ParseJson(text, {.python_literals = true});
  EXPECT_TRUE(value.ok()) << text;
  return ParseGenerationConfig(*value);
}

std::string MessageOf(std::string_view text) { return Parse(text).status().message(); }

TEST(GenerationConfig, ReadsTheDefaultsOfSampling) {
  const auto config = Parse(R"({"bos_token_id": 1, "do_sample": true, "temperature": 0.6,
    "top_p": 0.95, "top_k": 20, "min_p": 0.1, "typical_p": 0.9, "repetition_penalty": 1.05,
    "max_new_tokens": 512, "eos_token_id": [2, 7], "transformers_version": "4.1"})");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->eos_token_ids, (std::vector<TokenId>{2, 7}));
  const SamplingParams params = config->Defaults();
  EXPECT_EQ(params.temperature, 0.6);
  EXPECT_EQ(params.top_p, 0.95);
  EXPECT_EQ(params.top_k, 20);
  EXPECT_EQ(params.min_p, 0.1);
  EXPECT_EQ(params.typical_p, 0.9);
  EXPECT_EQ(params.repetition_penalty, 1.05);
  EXPECT_EQ(params.max_tokens, 512);
  EXPECT_EQ(config->max_new_tokens, 512);
}

TEST(GenerationConfig, OneEosTokenIsAListOfOne) {
  EXPECT_EQ(Parse(R"({"eos_token_id": 2})")->eos_token_ids, std::vector<TokenId>{2});
  EXPECT_TRUE(Parse(R"({"eos_token_id": null})")->eos_token_ids.empty());
  EXPECT_TRUE(Parse("{}")->eos_token_ids.empty());
}

TEST(GenerationConfig, MinusOneIsNoEosToken) {
  EXPECT_TRUE(Parse(R"({"eos_token_id": -1})")->eos_token_ids.empty());
  EXPECT_EQ(Parse(R"({"eos_token_id": [-1, 4]})")->eos_token_ids, std::vector<TokenId>{4});
}

TEST(GenerationConfig, OverridesMayNotMisspellAField) {
  const auto check = [](std::string_view text) {
    return CheckGenerationOverrides(*ParseJson(text)).message();
  };
  EXPECT_EQ(check(R"({"temprature": 0})"),
            "temprature: there is no such field; did you mean temperature?");
  EXPECT_EQ(check(R"({"temperature": "x"})"), "temperature: must be a number, got a string");
  EXPECT_EQ(check(R"({"temperature": 0, "do_sample": true, "eos_token_id": 1})"), "");
  EXPECT_TRUE(CheckGenerationOverrides(Json()).ok());
}

TEST(GenerationConfig, NullsAndAbsentMembersKeepVllmsDefaults) {
  const auto config = Parse(R"({"temperature": null, "do_sample": false})");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(*config, GenerationConfig());
  EXPECT_EQ(config->Defaults().temperature, SamplingParams().temperature);
  EXPECT_EQ(config->Defaults().max_tokens, SamplingParams().max_tokens);
  EXPECT_TRUE(ParseGenerationConfig(Json()).ok());
}

TEST(GenerationConfig, RefusesWhatNoRequestCouldSet) {
  EXPECT_EQ(MessageOf(R"({"temperature": "warm"})"), "temperature: must be a number, got a string");
  EXPECT_EQ(MessageOf(R"({"top_p": 0})"), "top_p: must be in (0, 1], got 0");
  EXPECT_NE(MessageOf(R"({"temperature": NaN})"), "");
  EXPECT_NE(MessageOf(R"({"top_k": 0.5})"), "");
  EXPECT_NE(MessageOf(R"({"top_k": -2})"), "");
  EXPECT_NE(MessageOf(R"({"max_new_tokens": 0})"), "");
  EXPECT_NE(MessageOf(R"({"eos_token_id": -2})"), "");
  EXPECT_NE(MessageOf(R"({"eos_token_id": "2"})"), "");
  EXPECT_NE(MessageOf(R"({"eos_token_id": [[2]]})"), "");
  EXPECT_NE(MessageOf("[]"), "");
}

// A folder with a generation_config.json, removed at the end.
class GenerationConfigFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/quire_generation_config_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(std::string_view text) const {
    std::ofstream(folder_ + "/generation_config.json") << text;
  }

  std::string folder_;
  ModelOptions options_;
};

TEST_F(GenerationConfigFolder, AutoTakesTheModelsOwn) {
  Write(R"({"eos_token_id": 2, "temperature": 0.6})");
  const auto config = LoadGenerationConfig(options_, folder_);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->temperature, 0.6);
  EXPECT_EQ(config->eos_token_ids, std::vector<TokenId>{2});
}

TEST_F(GenerationConfigFolder, VllmTakesTheEosTokensOnly) {
  Write(R"({"eos_token_id": 2, "temperature": 0.6, "max_new_tokens": 3})");
  options_.generation_config = "vllm";
  const auto config = LoadGenerationConfig(options_, folder_);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->temperature, std::nullopt);
  EXPECT_EQ(config->max_new_tokens, std::nullopt);
  EXPECT_EQ(config->eos_token_ids, std::vector<TokenId>{2});
}

TEST_F(GenerationConfigFolder, AFolderTakesThePlaceOfTheModels) {
  Write(R"({"top_k": 5})");
  options_.generation_config = folder_;
  const auto config = LoadGenerationConfig(options_, "");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->top_k, 5);
  options_.generation_config = folder_ + "/absent";
  const auto absent = LoadGenerationConfig(options_, folder_);
  EXPECT_EQ(absent.status().code(), Code::kNotFound);
}

TEST_F(GenerationConfigFolder, OverridesGoOnTop) {
  Write(R"({"top_k": 5, "top_p": 0.5, "eos_token_id": 2})");
  options_.override_generation_config =
      Json(JsonObject{{"top_k", Json(9)}, {"min_p", Json(0.1)}, {"top_p", Json()}});
  const auto config = LoadGenerationConfig(options_, folder_);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->top_k, 9);
  EXPECT_EQ(config->min_p, 0.1);
  EXPECT_EQ(config->top_p, std::nullopt);
  EXPECT_EQ(config->eos_token_ids, std::vector<TokenId>{2});
}

TEST_F(GenerationConfigFolder, NoFileIsNoDefaults) {
  for (const char* choice : {"auto", "vllm"}) {
    options_.generation_config = choice;
    EXPECT_EQ(*LoadGenerationConfig(options_, folder_), GenerationConfig());
    EXPECT_EQ(*LoadGenerationConfig(options_, ""), GenerationConfig());
  }
}

TEST_F(GenerationConfigFolder, DamagedFilesAreNamed) {
  Write("{");
  EXPECT_NE(LoadGenerationConfig(options_, folder_).status().message().find(folder_),
            std::string::npos);
  Write("[]");
  EXPECT_FALSE(LoadGenerationConfig(options_, folder_).ok());
  Write(std::string((1 << 20) + 1, ' '));
  EXPECT_FALSE(LoadGenerationConfig(options_, folder_).ok());
  Write("");
  EXPECT_FALSE(LoadGenerationConfig(options_, folder_).ok());
  Write(R"({"top_p": 7})");
  EXPECT_EQ(LoadGenerationConfig(options_, folder_).status().message(),
            folder_ + "/generation_config.json: top_p: must be in (0, 1], got 7");
}

TEST_F(GenerationConfigFolder, APipeIsRefusedAndNotWaitedFor) {
  const std::string path = folder_ + "/generation_config.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(LoadGenerationConfig(options_, folder_).status().message(),
            path + ": is a pipe or a device, not a file");
}

TEST_F(GenerationConfigFolder, ALinkToNothingIsNoMissingFile) {
  const std::string path = folder_ + "/generation_config.json";
  std::filesystem::create_symlink("../../blobs/absent", path);
  EXPECT_EQ(LoadGenerationConfig(options_, folder_).status().message(),
            path + ": is a link to a file that is not there");
}

}  // namespace
}  // namespace quire
