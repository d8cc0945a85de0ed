#include "server/tool_parsers/formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "base/test_data.h"

namespace quire {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string ToolNameOf(std::string_view chat_template) {
  const auto format = FindToolFormat("auto", chat_template);
  return format.ok() && *format != nullptr ? std::string((*format)->name) : "";
}

std::string ReasoningNameOf(std::string_view chat_template) {
  const auto format = FindReasoningFormat("auto", chat_template);
  return format.ok() && *format != nullptr ? std::string((*format)->name) : "";
}

TEST(Formats, FindsEachUnderItsName) {
  for (const ToolFormat& format : ToolFormats()) {
    EXPECT_EQ((*FindToolFormat(format.name, ""))->name, format.name);
  }
  for (const ReasoningFormat& format : ReasoningFormats()) {
    EXPECT_EQ((*FindReasoningFormat(format.name, ""))->name, format.name);
  }
}

TEST(Formats, ListsNamesInOrder) {
  EXPECT_TRUE(std::ranges::is_sorted(ToolFormatNames()));
  EXPECT_TRUE(std::ranges::is_sorted(ReasoningFormatNames()));
}

TEST(Formats, RefusesOtherNamesAndSaysWhichThereAre) {
  const auto tools = FindToolFormat("hermès", "");
  EXPECT_EQ(tools.status().code(), Code::kInvalidArgument);
  EXPECT_NE(tools.status().message().find("hermes, "), std::string::npos);
  EXPECT_FALSE(FindReasoningFormat("", "").ok());
}

TEST(Formats, FindsNoneWhereTheTemplateSaysNothing) {
  EXPECT_EQ(ToolNameOf("{{ messages[0].content }}"), "");
  EXPECT_EQ(ReasoningNameOf("{{ messages[0].content }}"), "");
}

TEST(Formats, AreDetectedFromPublishedTemplates) {
  const std::filesystem::path folder = TestDataPath("templates/chat");
  if (folder.empty()) GTEST_SKIP() << "templates/chat of the reference data is absent";
  const std::map<std::string, std::pair<std::string, std::string>> expected = {
      {"Qwen-Qwen2.5-7B-Instruct", {"hermes", ""}},
      {"Qwen-Qwen3-0.6B", {"hermes", "qwen3"}},
      {"Qwen3-Coder", {"qwen3_coder", ""}},
      {"GLM-4.6", {"glm45", "qwen3"}},
      {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", {"hermes", ""}},
      {"meta-llama-Llama-3.1-8B-Instruct", {"llama3_json", ""}},
      {"meta-llama-Llama-3.2-3B-Instruct", {"llama3_json", ""}},
      {"mistralai-Mistral-Nemo-Instruct-2407", {"mistral", ""}},
      {"mistralai-Ministral-3-14B-Reasoning-2512", {"mistral", "mistral"}},
      {"openai-gpt-oss-120b", {"openai", "gpt-oss"}},
      {"LFM2-8B-A1B", {"lfm2", ""}},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", {"", "qwen3"}},
      {"HuggingFaceTB-SmolLM2-Instruct", {"", ""}},
      {"google-gemma-2-2b-it", {"", ""}},
  };
  for (const auto& [name, formats] : expected) {
    const std::string text = ReadFile(folder / (name + ".jinja"));
    EXPECT_EQ(ToolNameOf(text), formats.first) << name;
    EXPECT_EQ(ReasoningNameOf(text), formats.second) << name;
  }
}

}  // namespace
}  // namespace quire
