#include "server/control_routes.h"

#include <thread>

#include <gtest/gtest.h>

#include "exec/null_executor.h"
#include "server/api_testing.h"

namespace quire {
namespace {

AsyncEngine::ExecutorFactory SaysSlowly() {
  return []() -> Result<std::unique_ptr<Executor>> {
    const auto script = [](RequestId, std::int32_t) -> TokenId {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 'a';
    };
    return std::unique_ptr<Executor>(new NullExecutor(NullExecutor::SmallFacts(300, 2048), script));
  };
}

Json AskToAbort(AsyncEngine& engine, std::string body) {
  const std::shared_ptr<AsyncEngine> borrowed(&engine, [](AsyncEngine*) {});
  ControlSources sources;
  sources.engine = [borrowed] { return borrowed; };
  auto request = std::make_shared<HttpRequest>();
  request->body = std::move(body);
  const auto reply = std::make_shared<RecordingReply>();
  for (const Route& route : ControlRoutes(sources)) {
    if (route.path == "/abort") route.handler(request, reply);
  }
  return *ParseJson(reply->WaitForEnd().body);
}

TEST(ControlRoutes, TellWhichRequestsTheyEnded) {
  ApiRig rig(SaysSlowly());
  const std::string body =
      R"({"prompt":"a","max_tokens":1500,"request_id":"abc","ignore_eos":true})";
  const auto first = rig.Begin("POST", "/v1/completions", body);
  const auto second = rig.Begin("POST", "/v1/completions", body);
  // By its own id one of two requests that a client called the same.
  const Json one = AskToAbort(rig.engine(), R"({"request_ids":["cmpl-abc","nobody"]})");
  EXPECT_EQ(At(one, "aborted"), Json(JsonArray{"cmpl-abc"}));
  EXPECT_EQ(At(one, "unknown"), Json(JsonArray{"nobody"}));
  const Json ended = *ParseJson(first->WaitForEnd().body);
  EXPECT_EQ(At(ended, "choices", 0, "finish_reason"), Json("abort"));
  // By the client's name all of them.
  EXPECT_EQ(At(AskToAbort(rig.engine(), R"({"request_id":"abc"})"), "aborted"),
            Json(JsonArray{"abc"}));
  EXPECT_EQ(At(*ParseJson(second->WaitForEnd().body), "choices", 0, "finish_reason"),
            Json("abort"));
  rig.engine().Drain();
}

}  // namespace
}  // namespace quire
