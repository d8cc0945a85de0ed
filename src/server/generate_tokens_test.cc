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

TEST(Generate, StreamsTheTokensThatItGivesAtOnce) {
  ApiRig rig(SaysAb());
  const std::string body = R"({"token_ids":[1,2],"sampling_params":{"n":2,"logprobs":0})";
  const Json whole = rig.PostOk(kPath, body + "}");
  EXPECT_EQ(At(whole, "usage", "prompt_tokens"), Json(2));
  EXPECT_EQ(At(whole, "usage", "completion_tokens"), Json(6));
  const HttpResponse response = rig.Post(
      kPath, body + R"(,"stream":true,"stream_options":{"include_usage":true},"request_id":"s"})");
  EXPECT_EQ(response.content_type, "text/event-stream; charset=utf-8");
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n")) << response.body;
  std::vector<Json> events = EventsOf(response.body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(At(events.back(), "usage"), At(whole, "usage"));
  EXPECT_TRUE(At(events.back(), "choices").array().empty());
  events.pop_back();
  JsonArray ids[2], logprobs[2], ends[2];
  for (const Json& event : events) {
    EXPECT_EQ(At(event, "request_id"), Json("generate-tokens-s"));
    EXPECT_TRUE(At(event, "usage").is_null());
    ASSERT_EQ(At(event, "choices").array().size(), 1U);
    const Json& choice = At(event, "choices", 0);
    const auto i = static_cast<std::size_t>(At(choice, "index").integer());
    ASSERT_LT(i, 2U);
    for (const Json& id : At(choice, "token_ids").array()) ids[i].push_back(id);
    for (const Json& one : At(choice, "logprobs", "content").array()) logprobs[i].push_back(one);
    ends[i].push_back(At(choice, "finish_reason"));
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Json(ids[i]), At(whole, "choices", i, "token_ids"));
    EXPECT_EQ(Json(logprobs[i]), At(whole, "choices", i, "logprobs", "content"));
    ASSERT_FALSE(ends[i].empty());
    EXPECT_EQ(ends[i].back(), Json("stop"));
    ends[i].pop_back();
    for (const Json& end : ends[i]) EXPECT_TRUE(end.is_null());
  }
}

TEST(Generate, TellsTheUsageInEachChunkWhereItIsAskedFor) {
  ApiRig rig(SaysAb());
  const std::vector<Json> events = rig.Stream(
      kPath, R"({"token_ids":[1,2],"sampling_params":{},"stream":true,)"
             R"("stream_options":{"include_usage":true,"continuous_usage_stats":true}})");
  std::int64_t num_tokens = 0;
  for (const Json& event : events) {
    const Json& choice = At(event, "choices", 0);
    const Json& ids = At(choice, "token_ids");
    if (ids.is_array()) num_tokens += static_cast<std::int64_t>(ids.array().size());
    EXPECT_EQ(At(event, "usage", "completion_tokens"), Json(num_tokens));
  }
  EXPECT_EQ(num_tokens, 3);
}

TEST(Generate, ChoosesAsARenderedRequestSays) {
  ApiRig rig(SaysAb());
  const std::string body =
      R"({"prompt":"hi","max_tokens":3,"logit_bias":{"120":50},"stop":["z"],"seed":5,)"
      R"("temperature":0.5,"structured_outputs":{"choice":["xy","xz"]}})";
  Json rendered = At(rig.PostOk("/v1/completions/render", body), 0);
  const Json direct = rig.PostOk("/v1/completions", body);
  EXPECT_EQ(At(rendered, "sampling_params", "structured_outputs", "choice"),
            Json(JsonArray{"xy", "xz"}));
  const Json reply = rig.PostOk(kPath, rendered.Dump());
  std::string text;
  for (const Json& id : At(reply, "choices", 0, "token_ids").array()) {
    if (id.integer() < 256) text += static_cast<char>(id.integer());
  }
  EXPECT_EQ(text.substr(0, 1), "x");
  EXPECT_EQ(Json(text.substr(0, TextOf(At(direct, "choices", 0, "text")).size())),
            At(direct, "choices", 0, "text"));
  // A chat may go on to the end of the context, and so may what it is rendered to.
  const Json chat =
      rig.PostOk("/v1/chat/completions/render", R"({"messages":[{"role":"user","content":"q"}]})");
  ASSERT_NE(chat.Find("sampling_params"), nullptr);
  const Json* most = chat.Find("sampling_params")->Find("max_tokens");
  ASSERT_NE(most, nullptr);
  EXPECT_TRUE(most->is_null());
  const HttpResponse taken = rig.Post(kPath, chat.Dump());
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_TRUE(taken.headers.empty()) << taken.headers[0].value;
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
      {"stream_options",
       R"({"token_ids":[1],"sampling_params":{},"stream_options":{"include_usage":true}})"},
      {"sampling_params.prompt_logprobs",
       R"({"token_ids":[1],"sampling_params":{"prompt_logprobs":1},"stream":true})"},
      {"features", R"({"token_ids":[1],"sampling_params":{},"features":{"a":1}})"}};
  for (const auto& [param, body] : cases) EXPECT_EQ(rig.Refused(kPath, body), param) << body;
  const HttpResponse warned = rig.Post(kPath, R"({"token_ids":[1],"sampling_params":{"tmp":9}})");
  EXPECT_EQ(warned.status, 200);
  ASSERT_EQ(warned.headers.size(), 1U);
  EXPECT_NE(warned.headers[0].value.find("sampling_params.tmp"), std::string::npos);
}

}  // namespace
}  // namespace quire
