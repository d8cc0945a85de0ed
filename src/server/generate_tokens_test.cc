#include "server/generate_tokens.h"

#include <gtest/gtest.h>

#include "exec/null_executor.h"
#include "server/api_testing.h"

namespace quire {
namespace {

constexpr const char* kPath = "/inference/v1/generate";

AsyncEngine::ExecutorFactory SaysAb() {
  return []() -> Result<std::unique_ptr<Executor>> {
    const auto script = [](RequestId, std::int32_t idx) -> TokenId {
      return idx < 2 ? 'a' + idx : kTestEos;
    };
    return std::unique_ptr<Executor>(new NullExecutor(NullExecutor::SmallFacts(300, 2048), script));
  };
}

TEST(Generate, GivesTokensForTokens) {
  ApiRig rig(SaysAb());
  const Json reply =
      rig.PostOk(kPath, R"({"token_ids":[1,2],"request_id":"x","sampling_params":{"n":2}})");
  EXPECT_EQ(At(reply, "request_id"), Json("generate-tokens-x"));
  ASSERT_EQ(At(reply, "choices").array().size(), 2U);
  EXPECT_EQ(At(reply, "choices", 1, "index"), Json(1));
  EXPECT_EQ(At(reply, "choices", 1, "token_ids"), Json(JsonArray{97, 98, kTestEos}));
  EXPECT_EQ(At(reply, "choices", 1, "finish_reason"), Json("stop"));
  const Json some = rig.PostOk(
      kPath, R"({"token_ids":[1],"sampling_params":{"stop":["b"],"logprobs":0,"max_tokens":9}})");
  EXPECT_EQ(At(some, "choices", 0, "token_ids"), Json(JsonArray{97, 98}));
  EXPECT_EQ(At(some, "choices", 0, "logprobs", "content").array().size(), 2U);
}

TEST(Generate, NamesWhatItRefuses) {
  ApiRig rig(SaysAb());
  const std::pair<const char*, const char*> cases[] = {
      {"token_ids", R"({"sampling_params":{}})"},
      {"token_ids", R"({"token_ids":[],"sampling_params":{}})"},
      {"token_ids", R"({"token_ids":[999],"sampling_params":{}})"},
      {"sampling_params", R"({"token_ids":[1]})"},
      {"sampling_params.temperature", R"({"token_ids":[1],"sampling_params":{"temperature":9}})"},
      {"sampling_params.temperature", R"({"token_ids":[1],"sampling_params":{"temperature":"x"}})"},
      {"stream", R"({"token_ids":[1],"sampling_params":{},"stream":true})"},
      {"features", R"({"token_ids":[1],"sampling_params":{},"features":{"a":1}})"}};
  for (const auto& [param, body] : cases) EXPECT_EQ(rig.Refused(kPath, body), param) << body;
  const HttpResponse warned = rig.Post(kPath, R"({"token_ids":[1],"sampling_params":{"tmp":9}})");
  EXPECT_EQ(warned.status, 200);
  ASSERT_EQ(warned.headers.size(), 1U);
  EXPECT_NE(warned.headers[0].value.find("sampling_params.tmp"), std::string::npos);
}

}  // namespace
}  // namespace quire
