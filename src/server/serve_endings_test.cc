// How answers go on and come to their end: streams, clients that leave or are slow, and the server
// that stops.
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "server/serve.h"
#include "server/testing.h"

namespace quire {
namespace {

using std::chrono::milliseconds;

// The data of the last event that holds JSON.
std::string LastEvent(const std::string& body) {
  const std::size_t start = body.rfind("data: {") + 6;
  return body.substr(start, body.find('\n', start) - start);
}

TEST(ServerEndings, StreamsChunksAsTheyCome) {
  Desk desk;
  const auto server = StartTestServer(TestServerConfig(), {desk.Holding("/hold")});
  TestClient client(server->port());
  client.Send(PostText("/hold", ""));
  const auto reply = desk.Next();
  reply->BeginStream({.content_type = "text/event-stream"});
  EXPECT_TRUE(reply->Write("data: 1\n\n"));
  EXPECT_TRUE(client.FillUntil("data: 1\n\n"));
  EXPECT_TRUE(reply->Write("data: 2\n\n"));
  reply->EndStream();
  const auto answer = client.Read();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_EQ(answer.body, "data: 1\n\ndata: 2\n\n");
  client.Send(PostText("/hold", ""));
  desk.Next()->Send({.body = "{}"});
  EXPECT_EQ(client.Read().body, "{}");
}

TEST(ServerEndings, EndsAStreamToAnOldClientByClosing) {
  Desk desk;
  const auto server = StartTestServer(TestServerConfig(), {desk.Holding("/hold")});
  TestClient client(server->port());
  client.Send("POST /hold HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
  const auto reply = desk.Next();
  reply->BeginStream({.content_type = "text/plain"});
  reply->Write("abc");
  reply->EndStream();
  const std::string all = client.ReadAll();
  EXPECT_EQ(all.substr(all.find("\r\n\r\n")), "\r\n\r\nabc");
}

TEST(ServerEndings, SaysWhenTheClientHasGone) {
  Desk desk;
  const auto server = StartTestServer(TestServerConfig(), {desk.Holding("/hold")});
  for (const bool is_streaming : {false, true}) {
    TestClient client(server->port());
    client.Send(PostText("/hold", ""));
    const auto reply = desk.Next();
    if (is_streaming) reply->BeginStream({.content_type = "text/event-stream"});
    std::promise<void> gone;
    reply->OnClientGone([&] { gone.set_value(); });
    client.Close();
    ASSERT_EQ(gone.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_FALSE(reply->Write("x"));
    bool is_told_at_once = false;
    reply->OnClientGone([&] { is_told_at_once = true; });
    EXPECT_TRUE(is_told_at_once);
  }
  EXPECT_TRUE(Eventually([&] { return server->num_active() == 0; }));
}

TEST(ServerEndings, AnswersForAHandlerThatDoesNot) {
  Desk desk;
  const auto server = StartTestServer(
      TestServerConfig(), {desk.Holding("/hold"),
                           {"POST", "/throw", Access::kKey,
                            [](const auto&, const auto&) { throw std::runtime_error("a fault"); }},
                           {"POST", "/drop", Access::kKey, [](const auto&, const auto&) {}}});
  for (const char* path : {"/throw", "/drop"}) {
    const auto answer = TestClient(server->port()).Ask(PostText(path, ""));
    EXPECT_EQ(answer.status, 500) << path;
    EXPECT_TRUE(IsError(answer.body, 500)) << path;
  }
  TestClient client(server->port());
  client.Send(PostText("/hold", ""));
  {
    const auto reply = desk.Next();
    reply->BeginStream({.content_type = "text/event-stream"});
  }
  const auto answer = client.Read();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_TRUE(IsError(LastEvent(answer.body), 500));
}

TEST(ServerEndings, EndsTheStreamOfAClientThatDoesNotRead) {
  Desk desk;
  ServerConfig config = TestServerConfig();
  config.limits.max_send_buffer_bytes = 100'000;
  const auto server = StartTestServer(config, {desk.Holding("/hold")});
  TestClient client(server->port());
  client.Send(PostText("/hold", ""));
  const auto reply = desk.Next();
  reply->BeginStream({.content_type = "text/event-stream"});
  const std::string piece = StrCat("data: ", std::string(10'000, 'x'), "\n\n");
  int num_taken = 0;
  while (num_taken < 10'000 && reply->Write(piece)) ++num_taken;
  EXPECT_LT(num_taken, 10'000);
  EXPECT_FALSE(reply->Write(piece));
  const auto answer = client.Read();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_TRUE(IsError(LastEvent(answer.body), 503));
  EXPECT_TRUE(client.WaitForEnd());
}

TEST(ServerEndings, CutsOffWhoIsTooSlow) {
  ServerConfig config = TestServerConfig();
  config.limits.header_timeout = 0.2;
  config.limits.body_timeout = 0.2;
  config.limits.keep_alive_timeout = 0.2;
  const auto server = StartTestServer(config, {EchoRoute()});
  TestClient silent(server->port());
  TestClient half_head(server->port());
  TestClient half_body(server->port());
  TestClient idle(server->port());
  half_head.Send("POST /echo HT");
  half_body.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe");
  EXPECT_EQ(idle.Ask(PostText("/echo", "x")).status, 200);
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(half_head.Read().status, 408);
  EXPECT_EQ(half_body.Read().status, 408);
  EXPECT_EQ(idle.ReadAll(), "");
}

TEST(ServerEndings, EndsRequestsThatTakeTooLong) {
  Desk desk;
  ServerConfig config = TestServerConfig();
  config.limits.request_timeout = 0.2;
  const auto server = StartTestServer(config, {desk.Holding("/hold")});
  TestClient waiting(server->port());
  waiting.Send(PostText("/hold", ""));
  const auto first = desk.Next();
  std::promise<void> gone;
  first->OnClientGone([&] { gone.set_value(); });
  EXPECT_EQ(waiting.Read().status, 504);
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  TestClient streaming(server->port());
  streaming.Send(PostText("/hold", ""));
  const auto second = desk.Next();
  second->BeginStream({.content_type = "text/event-stream", .body = "data: 1\n\n"});
  const auto answer = streaming.Read();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_TRUE(IsError(LastEvent(answer.body), 504));
}

TEST(ServerEndings, RefusesConnectionsBeyondItsBound) {
  ServerConfig config = TestServerConfig();
  config.limits.max_connections = 3;
  const auto server = StartTestServer(config, {EchoRoute()});
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    EXPECT_EQ(clients.back()->Ask(PostText("/echo", "x")).status, 200);
  }
  const auto refused = TestClient(server->port()).Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  clients.pop_back();
  EXPECT_TRUE(Eventually(
      [&] { return TestClient(server->port()).Ask(PostText("/echo", "x")).status == 200; }));
}

TEST(ServerEndings, DrainRefusesNewWorkAndLetsStreamsFinish) {
  Desk desk;
  const auto server = StartTestServer(TestServerConfig(), {desk.Holding("/hold")});
  TestClient client(server->port());
  client.Send(PostText("/hold", ""));
  const auto reply = desk.Next();
  reply->BeginStream({.content_type = "text/event-stream"});
  server->BeginDrain();
  const auto refused = TestClient(server->port()).Ask(PostText("/hold", ""));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_TRUE(IsError(refused.body, 503));
  EXPECT_EQ(TestClient(server->port()).Ask(GetText("/version")).status, 200);
  EXPECT_TRUE(reply->Write("data: last\n\n"));
  reply->EndStream();
  EXPECT_EQ(client.Read().body, "data: last\n\n");
}

TEST(ServerEndings, StopEndsWhatStillRunsWithAnError) {
  Desk desk;
  const auto server = StartTestServer(TestServerConfig(), {desk.Holding("/hold")});
  TestClient idle(server->port());
  TestClient streaming(server->port());
  streaming.Send(PostText("/hold", ""));
  const auto stream = desk.Next();
  stream->BeginStream({.content_type = "text/event-stream", .body = "data: 1\n\n"});
  TestClient waiting(server->port());
  waiting.Send(PostText("/hold", ""));
  const auto wait = desk.Next();
  std::thread stopper([&] { server->Stop(std::chrono::seconds(2)); });
  const auto cut = streaming.Read();
  EXPECT_TRUE(cut.is_whole);
  EXPECT_TRUE(IsError(LastEvent(cut.body), 503));
  EXPECT_TRUE(IsError(waiting.Read().body, 503));
  EXPECT_EQ(idle.ReadAll(), "");
  streaming.Close();
  waiting.Close();
  stopper.join();
  EXPECT_FALSE(stream->Write("x"));
}

}  // namespace
}  // namespace quire
