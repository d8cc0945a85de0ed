#include "apps/quire/prompts.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/strings.h"

namespace quire {
namespace {

Result<std::vector<Prompt>> Read(const std::string& text,
                                 std::optional<std::int64_t> max_prompts = std::nullopt) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("quire_prompts_" + std::to_string(getpid()) + ".jsonl");
  std::ofstream(path) << text;
  auto prompts = ReadPrompts(path, max_prompts, true);
  std::filesystem::remove(path);
  return prompts;
}

TEST(Prompts, AreTextOrIdsWithSamplingOfTheirOwn) {
  const auto prompts = Read(
      "{\"prompt\": \"a\", \"temperature\": 0.5, \"max-tokens\": 7}\n\n"
      "{\"ids\": [1, 2], \"priority\": 3}\n");
  ASSERT_TRUE(prompts.ok()) << prompts.status().message();
  ASSERT_EQ(prompts->size(), 2U);
  const auto first = (*prompts)[0].ToInput(SamplingParams());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->text, "a");
  EXPECT_EQ(first->sampling.temperature, 0.5);
  EXPECT_EQ(first->sampling.max_tokens, 7);
  EXPECT_EQ((*prompts)[1].place, "line 3");
  EXPECT_EQ((*prompts)[1].ids, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ((*prompts)[1].priority, 3);
}

TEST(Prompts, AreNoMoreThanAskedFor) {
  const auto prompts = Read("{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\nno json\n", 2);
  ASSERT_TRUE(prompts.ok());
  EXPECT_EQ(prompts->size(), 2U);
}

TEST(Prompts, ThatCannotBeReadAreNamedByLine) {
  for (const char* bad : {"x", "[]", "{}", "{\"prompt\": 5}", "{\"prompt\": \"a\", \"ids\": [1]}",
                          "{\"ids\": [1.5]}", "{\"prompt\": \"a\", \"temprature\": 1}",
                          "{\"prompt\": \"a\", \"top_k\": \"x\"}", "{\"ids\": \"1\"}"}) {
    const auto prompts = Read(std::string("{\"prompt\": \"a\"}\n") + bad + "\n");
    EXPECT_EQ(prompts.status().code(), Code::kInvalidArgument) << bad;
    EXPECT_NE(prompts.status().message().find("line 2"), std::string::npos)
        << prompts.status().message();
  }
}

TEST(Prompts, HaveNoBudgetOfReasoning) {
  for (const char* name : {"thinking_token_budget", "thinking-token-budget"}) {
    const Status status = Read(StrCat(R"({"prompt": "a", ")", name, R"(": 3})")).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(StrCat(name, ": is served by `quire serve` alone")),
              std::string::npos)
        << status.message();
  }
}

TEST(Prompts, OfAnEmptyFileAreAnError) {
  EXPECT_EQ(Read("\n \n").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quire
