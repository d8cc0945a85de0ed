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

}  // namespace
}  // namespace quire
