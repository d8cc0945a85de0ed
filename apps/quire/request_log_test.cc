#include "apps/quire/request_log.h"

#include <gtest/gtest.h>

namespace quire {
namespace {

EngineRequest Request() {
  EngineRequest request;
  request.prompt = {5, 6, 7, 8};
  request.sampling.temperature = 0.5;
  return request;
}

TEST(RequestLog, ShowsTheParametersThatAreNotTheirDefaults) {
  const std::string line = RequestLine("cmpl-1", Request());
  EXPECT_EQ(line, R"(request cmpl-1: 4 prompt tokens, {"temperature":0.5})");
}

TEST(RequestLog, CutsPromptsAndEscapesIds) {
  EXPECT_EQ(PromptLine("a\nb", Request(), nullptr, 2), "request a\\x0ab: prompt: ids: 5, 6, …");
  EXPECT_EQ(PromptLine("a", Request(), nullptr, 4), "request a: prompt: ids: 5, 6, 7, 8");
  EXPECT_EQ(PromptLine("a", Request(), nullptr, 0), "request a: prompt: ids: …");
}

TEST(RequestLog, CutsParametersThatAreLong) {
  EngineRequest request = Request();
  request.sampling.stop.assign(1000, "a stop text that goes on");
  EXPECT_LT(RequestLine("a", request).size(), 2200u);
}

RequestOutput Delta(const std::string& id, int index, std::string text, std::vector<TokenId> ids,
                    std::optional<FinishReason> reason = {}) {
  RequestOutput output;
  output.request_id = id;
  output.outputs.push_back({.index = index,
                            .text = std::move(text),
                            .token_ids = std::move(ids),
                            .finish_reason = reason});
  output.is_finished = reason.has_value() && index == 0;
  return output;
}

TEST(AnswerLog, PutsTheAnswersOfRequestsTogether) {
  AnswerLog log(std::nullopt);
  EXPECT_TRUE(log.Hear(Delta("a", 0, "so ", {1})).empty());
  EXPECT_TRUE(log.Hear(Delta("b", 0, "no", {7, 8})).empty());
  EXPECT_TRUE(log.Hear(Delta("a", 1, "x", {5})).empty());
  EXPECT_EQ(log.Hear(Delta("a", 1, "", {6}, FinishReason::kLength)),
            (std::vector<std::string>{"request a: answer 1: \"x\", ids: 5, 6; 2 tokens, length"}));
  EXPECT_EQ(
      log.Hear(Delta("a", 0, "it\n", {2}, FinishReason::kStop)),
      (std::vector<std::string>{"request a: answer 0: \"so it\\x0a\", ids: 1, 2; 2 tokens, stop"}));
  EXPECT_EQ(log.Hear(Delta("b", 0, "", {}, FinishReason::kAbort)).size(), 1U);
  // The id begins anew.
  EXPECT_EQ(log.Hear(Delta("a", 0, "z", {9}, FinishReason::kStop)),
            (std::vector<std::string>{"request a: answer 0: \"z\", ids: 9; 1 tokens, stop"}));
}

TEST(AnswerLog, KeepsAndShowsNoMoreThanItsLimit) {
  AnswerLog log(3);
  EXPECT_TRUE(log.Hear(Delta("a", 0, "abcd", {1, 2})).empty());
  EXPECT_EQ(
      log.Hear(Delta("a", 0, "efgh", {3, 4}, FinishReason::kStop)),
      (std::vector<std::string>{"request a: answer 0: \"abc…\", ids: 1, 2, 3, …; 4 tokens, stop"}));
  AnswerLog none(0);
  EXPECT_EQ(none.Hear(Delta("a", 0, "abcd", {1}, FinishReason::kStop)),
            (std::vector<std::string>{"request a: answer 0: \"…\", ids: …; 1 tokens, stop"}));
}

TEST(AnswerLog, TellsWhyAnAnswerFailed) {
  AnswerLog log(std::nullopt);
  RequestOutput output;
  output.request_id = "a";
  output.is_finished = true;
  output.error = Status(Code::kUnavailable, "gone\nnow");
  EXPECT_EQ(log.Hear(output),
            (std::vector<std::string>{"request a: ended with an error: gone\\x0anow"}));
}

}  // namespace
}  // namespace quire
