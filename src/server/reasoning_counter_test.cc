#include "server/reasoning_counter.h"

#include <string>

#include <gtest/gtest.h>

#include "server/reasoning_parser.h"

namespace quire {
namespace {

struct Case {
  const char* format;
  const char* prompt_end;
  std::vector<std::string> tokens;
  int num_reasoning;
};

// However a marker is cut into tokens, only what stands between markers counts.
TEST(ReasoningCounter, CountsTheTokensBetweenTheMarkers) {
  const std::vector<Case> cases = {
      {"qwen3", "", {"<think>", "a", "b", "</think>", "c"}, 2},
      {"qwen3", "", {"<", "think", ">", "a", "b", "</", "think", ">", "c"}, 2},
      {"qwen3", "", {"<think", ">a", "b</", "think>c", "d"}, 2},
      {"qwen3", "", {"\n", "<think>", "\n", "</think>", "\n"}, 1},
      {"qwen3", "", {"<think>", "</think>", "a"}, 0},
      {"qwen3", "", {"a", "<think>", "b", "</think>"}, 0},
      {"qwen3", "<think>", {"a", "b", "</think>", "c"}, 2},
      {"qwen3", "<think></think>", {"a", "b"}, 0},
      {"deepseek_r1", "", {"a", "b", "</think>", "c"}, 2},
      {"deepseek_r1", "", {"<think>", "a", "b", "</think>", "c"}, 2},
      {"deepseek_r1", "", {"<", "think", ">", "a", "b", "</think>", "c"}, 2},
      {"deepseek_r1", "", {"</", "think", ">", "c"}, 0},
      {"deepseek_r1", "", {" ", "a", "</", "thin", "</", "think", ">", "c"}, 4},
      // The end of the answer is none of the reasoning: what looked like a marker was text.
      {"deepseek_r1", "", {"a", "</", "think"}, 3},
      {"deepseek_r1", "", {"a", "b"}, 2},
      {"deepseek_r1", "", {"<", "thi"}, 2},
      {"mistral", "", {"[THINK]", "a", "[", "b", "[/THINK]", "c"}, 3},
      {"gpt-oss",
       "",
       {"<|channel|>", "analysis", "<|message|>", "a", "<", "b", "<|end|>", "<|start|>",
        "assistant", "<|channel|>", "final", "<|message|>", "c"},
       3},
  };
  for (const Case& c : cases) {
    const auto format = FindReasoningFormat(c.format, "");
    ASSERT_TRUE(format.ok());
    ReasoningCounter counter((*format)->make(c.prompt_end));
    std::int64_t num_tokens = 0;
    std::string text;
    for (const std::string& token : c.tokens) {
      num_tokens += counter.Hear(token);
      text += token + "|";
    }
    EXPECT_EQ(num_tokens + counter.Finish(), c.num_reasoning) << c.format << ": " << text;
  }
}

}  // namespace
}  // namespace quire
