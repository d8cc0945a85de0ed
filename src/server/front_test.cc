#include "server/front.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "server/api_testing.h"
#include "server/auth.h"
#include "server/router.h"

namespace quire {
namespace {

Route Answering(std::string method, std::string path, Access access) {
  return {std::move(method), std::move(path), access,
          [](const auto& request, const auto& reply) { reply->Send({.body = request->path}); }};
}

HttpResponse Ask(const HttpFront& front, std::string method, std::string path,
                 std::string key = {}) {
  auto request = std::make_shared<HttpRequest>();
  request->method = std::move(method);
  request->path = std::move(path);
  if (!key.empty()) request->headers.push_back({"X-Api-Key", std::move(key)});
  const auto reply = std::make_shared<RecordingReply>();
  front.Handle(request, reply);
  return reply->WaitForEnd();
}

TEST(Front, RefusesWorkForTheReasonThatTheGateGivesAndNothingElse) {
  HttpFront front({.admin_keys = KeyRing({"admin"})});
  EXPECT_EQ(Ask(front, "GET", "/health").status, 503) << "it has no routes yet";
  std::string why;
  front.SetRoutes(
      {Answering("POST", "/v1/completions", Access::kKey),
       Answering("GET", "/v1/models", Access::kKey), Answering("POST", "/ping", Access::kOpen),
       Answering("POST", "/wake_up", Access::kAdmin)},
      [&why] { return std::string_view(why); });
  EXPECT_EQ(Ask(front, "POST", "/v1/completions").status, 200);
  why = "the engine is paused";
  const HttpResponse refused = Ask(front, "POST", "/v1/completions");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("the engine is paused"), std::string::npos);
  EXPECT_EQ(Ask(front, "GET", "/v1/models").status, 200);
  EXPECT_EQ(Ask(front, "POST", "/ping").status, 200);
  EXPECT_EQ(Ask(front, "POST", "/wake_up", "admin").status, 200);
}

TEST(Front, RefusesInTheShapeThatTheClientsOfARouteKnow) {
  HttpFront front({.keys = KeyRing({"user"})});
  std::string why;
  front.SetRoutes({Answering("POST", "/v1/messages", Access::kKey)},
                  [&why] { return std::string_view(why); });
  const auto type = [](const HttpResponse& response) {
    return TextOf(At(*ParseJson(response.body), "type"));
  };
  EXPECT_EQ(type(Ask(front, "GET", "/v1/messages")), "error");          // 405
  EXPECT_EQ(type(Ask(front, "GET", "/v1/messages/batches")), "error");  // 404
  EXPECT_EQ(type(Ask(front, "POST", "/v1/messages")), "error");         // 401
  why = "the engine is paused";
  EXPECT_EQ(type(Ask(front, "POST", "/v1/messages", "user")), "error");  // 503
  EXPECT_EQ(type(Ask(front, "GET", "/v1/messagesx")), "");
}

TEST(Front, AsksForTheKeyBeforeItSaysHowTheServerIs) {
  HttpFront front({.keys = KeyRing({"user"})});
  front.SetRoutes({Answering("POST", "/work", Access::kKey)},
                  [] { return std::string_view("the server is shutting down"); });
  EXPECT_EQ(Ask(front, "POST", "/work").status, 401);
  EXPECT_EQ(Ask(front, "POST", "/work", "user").status, 503);
}

TEST(Router, FindsTheRestOfAPath) {
  const Router router({Answering("GET", "/v1/models", Access::kKey),
                       Answering("GET", "/v1/models/{model:path}", Access::kKey),
                       Answering("GET", "/v1/responses/{id}", Access::kKey)});
  const auto found = [&](std::string_view path) {
    const Router::Match match = router.Find("GET", path);
    return match.route == nullptr ? "" : match.route->path;
  };
  EXPECT_EQ(found("/v1/models"), "/v1/models");
  for (const char* name : {"m", "org/name", "/data/models/m.gguf", "./m"}) {
    EXPECT_EQ(found(StrCat("/v1/models/", name)), "/v1/models/{model:path}") << name;
  }
  EXPECT_EQ(found("/v1/models/"), "");
  EXPECT_EQ(found("/v1/responses/a"), "/v1/responses/{id}");
  EXPECT_EQ(found("/v1/responses/a/b"), "");
}

}  // namespace
}  // namespace quire
