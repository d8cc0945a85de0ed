#include "server/serve.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <zlib.h>

#include "server/testing.h"

namespace quire {
namespace {

std::string Gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Server, AnswersOneRequestAfterAnotherOnOneConnection) {
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()});
  TestClient client(server->port());
  for (const char* body : {"one", "", "three"}) {
    const auto answer = client.Ask(PostText("/echo", body));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, body);
  }
}

TEST(Server, AnswersPipelinedRequestsInTheirOrder) {
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()});
  TestClient client(server->port());
  std::string many;
  for (int i = 0; i < 5000; ++i) many += PostText("/echo", StrCat(i));
  std::thread sender([&] { client.Send(many); });
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(client.Read().body, StrCat(i));
  sender.join();
}

TEST(Server, ReadsChunkedAndPackedBodies) {
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()});
  TestClient client(server->port());
  const auto chunked = client.Ask(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.body, "abcde");
  const std::string text(100'000, 'x');
  const auto packed =
      client.Ask(PostText("/echo", Gzip(text) + Gzip("end"), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(packed.body, text + "end");
}

TEST(Server, RefusesAPackedBodyThatUnpacksTooFar) {
  ServerConfig config = TestServerConfig();
  config.limits.max_body_bytes = 100'000;
  const auto server = StartTestServer(config, {EchoRoute()});
  const std::string packed = Gzip(std::string(50'000'000, '\0'));  // before its time runs
  TestClient client(server->port());
  const auto bomb = client.Ask(PostText("/echo", packed, "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(bomb.status, 413);
  EXPECT_TRUE(IsError(bomb.body, 413));
  const auto cut =
      client.Ask(PostText("/echo", Gzip("hello").substr(0, 15), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(cut.status, 400);
  const auto other = client.Ask(PostText("/echo", "x", "Content-Encoding: br\r\n"));
  EXPECT_EQ(other.status, 415);
  EXPECT_EQ(client.Ask(PostText("/echo", "still here")).body, "still here");
}

TEST(Server, TellsAClientThatWaitsToGoAhead) {
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()});
  TestClient client(server->port());
  const auto go = client.Ask(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(go.status, 100);
  EXPECT_EQ(client.Ask("hello").body, "hello");
}

TEST(Server, RefusesWithOneShapeOfError) {
  ServerConfig config = TestServerConfig();
  config.limits.max_body_bytes = 1000;
  config.limits.max_headers = 10;
  const auto server = StartTestServer(config, {EchoRoute()});
  std::string many_headers;
  for (int i = 0; i < 20; ++i) many_headers += StrCat("X-", i, ": 1\r\n");
  const std::vector<std::pair<std::string, int>> cases = {
      {GetText("/nothing"), 404},
      {GetText("/echo"), 405},
      {"DELETE /health HTTP/1.1\r\nHost: h\r\n\r\n", 405},
      {PostText("/echo", std::string(1001, 'x')), 413},
      {GetText("/health", many_headers), 431},
      {"nonsense\r\n\r\n", 400},
      {std::string("\x16\x03\x01\x02\x00\x01\x00", 7) + std::string(300, 'x') + "\r\n\r\n", 400},
      {GetText("/health"), 503},
  };
  for (const auto& [request, code] : cases) {
    TestClient client(server->port());
    const auto answer = client.Ask(request);
    EXPECT_EQ(answer.status, code) << request.substr(0, 60);
    EXPECT_TRUE(IsError(answer.body, code)) << request.substr(0, 60);
  }
  TestClient client(server->port());
  const auto answer = client.Ask(PostText("/v1/messages?beta=true", std::string(1001, 'x')));
  EXPECT_EQ(answer.status, 413);
  EXPECT_TRUE(answer.body.starts_with(R"({"type":"error","error":{"type":"request_too_large")"))
      << answer.body;
}

TEST(Server, AnswersHeadAndOptions) {
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()});
  TestClient client(server->port());
  const auto head = client.Ask("HEAD /version HTTP/1.1\r\nHost: h\r\n\r\n", false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "19");
  const auto options = client.Ask("OPTIONS /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("Allow"), "POST, OPTIONS");
  EXPECT_EQ(client.Ask(GetText("/version")).body, R"({"version":"1.2.3"})");
}

TEST(Server, GivesEveryAnswerAnIdAndKeepsASoundOne) {
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()});
  TestClient client(server->port());
  EXPECT_EQ(client.Ask(GetText("/version", "X-Request-Id: abc-1\r\n")).header("X-Request-Id"),
            "abc-1");
  const auto fresh = client.Ask(GetText("/version", "X-Request-Id: a b\r\n"));
  EXPECT_EQ(fresh.header("X-Request-Id").size(), 32u);
  const std::string long_id = StrCat("X-Request-Id: ", std::string(10'000, 'x'), "\r\n");
  EXPECT_EQ(client.Ask(GetText("/version", long_id)).header("X-Request-Id").size(), 32u);
}

TEST(Server, TellsPagesOfOtherOriginsWhatTheyMay) {
  ServerConfig config = TestServerConfig();
  config.access.allowed_origins = {"https://good.example"};
  config.access.allow_credentials = true;
  const auto server = StartTestServer(config, {EchoRoute()});
  TestClient client(server->port());
  const auto preflight = [&](std::string_view origin) {
    return client.Ask(StrCat("OPTIONS /echo HTTP/1.1\r\nHost: h\r\nOrigin: ", origin,
                             "\r\nAccess-Control-Request-Method: POST\r\n"
                             "Access-Control-Request-Headers: authorization\r\n\r\n"));
  };
  const auto good = preflight("https://good.example");
  EXPECT_EQ(good.status, 204);
  EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://good.example");
  EXPECT_EQ(good.header("Access-Control-Allow-Headers"), "authorization");
  const auto bad = preflight("https://bad.example");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.header("Access-Control-Allow-Origin"), "");
  const auto plain = client.Ask(PostText("/echo", "x", "Origin: https://good.example\r\n"));
  EXPECT_EQ(plain.header("Vary"), "Origin");
}

TEST(Server, AsksForAKeyOnEveryRouteButHealthAndPing) {
  ServerConfig config = TestServerConfig();
  config.access.api_keys = {"secret", "other"};
  const auto server = StartTestServer(config, {EchoRoute()});
  TestClient client(server->port());
  EXPECT_EQ(client.Ask(GetText("/health")).status, 503);
  EXPECT_EQ(client.Ask(GetText("/ping")).status, 503);
  for (const char* path : {"/version", "/load"}) {
    EXPECT_EQ(client.Ask(GetText(path)).status, 401) << path;
    EXPECT_EQ(client.Ask(GetText(path, "Authorization: Bearer wrong\r\n")).status, 401);
    EXPECT_EQ(client.Ask(GetText(path, "Authorization: bearer other\r\n")).status, 200);
    EXPECT_EQ(client.Ask(GetText(path, "X-Api-Key: secret\r\n")).status, 200);
  }
  const auto refused = client.Ask(PostText("/echo", "x"));
  EXPECT_TRUE(IsError(refused.body, 401));
  EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer");
}

TEST(Server, ShowsControlRoutesOnlyToTheAdminKey) {
  ServerConfig config = TestServerConfig();
  config.access.api_keys = {"user"};
  const auto closed = StartTestServer(config, {});
  EXPECT_EQ(TestClient(closed->port()).Ask(PostText("/sleep", "")).status, 404);
  config.access.enable_admin = true;
  EXPECT_FALSE(Server::Start(config).ok());
  config.access.admin_key = "admin";
  const auto open = StartTestServer(config, {});
  TestClient client(open->port());
  EXPECT_EQ(client.Ask(PostText("/sleep", "", "Authorization: Bearer user\r\n")).status, 401);
  EXPECT_EQ(client.Ask(PostText("/sleep", "", "Authorization: Bearer admin\r\n")).status, 503);
  EXPECT_EQ(client.Ask(GetText("/version", "Authorization: Bearer admin\r\n")).status, 200);
}

TEST(Server, TakesNoKeyOfClientsForTheAdminKey) {
  ServerConfig config = TestServerConfig();
  config.access.enable_admin = true;
  config.access.admin_key = "same";
  config.access.api_keys = {"user", "same"};
  const auto of_flags = Server::Start(config);
  ASSERT_FALSE(of_flags.ok());
  EXPECT_TRUE(of_flags.status().message().starts_with("--admin-key: "))
      << of_flags.status().message();
  config.access.api_keys = {"user"};
  config.access.api_key_file = StrCat("/tmp/quire_serve_test_keys.", getpid());
  std::ofstream(config.access.api_key_file) << "other\nsame\n";
  EXPECT_FALSE(Server::Start(config).ok());
  std::ofstream(config.access.api_key_file) << "other\n";
  EXPECT_TRUE(Server::Start(config).ok());
  unlink(config.access.api_key_file.c_str());
}

TEST(Server, ReportsEachAnswerOnce) {
  std::atomic<int> num_answers = 0;
  std::atomic<int> last_status = 0;
  const auto server = StartTestServer(TestServerConfig(), {EchoRoute()}, [&](const auto& access) {
    ++num_answers;
    last_status = access.status;
  });
  TestClient client(server->port());
  client.Ask(PostText("/echo", "x"));
  client.Ask(GetText("/nothing"));
  client.Close();
  EXPECT_TRUE(Eventually([&] { return num_answers == 2; }));
  EXPECT_EQ(last_status, 404);
}

TEST(Server, ServesOnASocketFile) {
  ServerConfig config = TestServerConfig();
  config.listen.uds = StrCat("/tmp/quire_serve_test.", getpid());
  for (int i = 0; i < 2; ++i) {
    const auto server = StartTestServer(config, {EchoRoute()});
    TestClient client(config.listen.uds);
    EXPECT_EQ(client.Ask(PostText("/echo", "x")).body, "x");
    EXPECT_FALSE(Server::Start(config).ok()) << "two servers on one socket file";
  }
  EXPECT_FALSE(TestClient(config.listen.uds).is_connected());
}

TEST(Server, LeavesAFileAloneThatIsNoSocket) {
  ServerConfig config = TestServerConfig();
  config.listen.uds = StrCat("/tmp/quire_serve_test_file.", getpid());
  std::ofstream(config.listen.uds) << "precious";
  const auto server = Server::Start(config);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().message().rfind("--uds: ", 0), 0u) << server.status().message();
  std::string kept;
  std::ifstream(config.listen.uds) >> kept;
  EXPECT_EQ(kept, "precious");
  unlink(config.listen.uds.c_str());
}

TEST(Server, TakesItsRootPathOffRequests) {
  ServerConfig config = TestServerConfig();
  config.listen.root_path = "/llm/";
  const auto server = StartTestServer(config, {EchoRoute()});
  TestClient client(server->port());
  EXPECT_EQ(client.Ask(PostText("/llm/echo", "x")).body, "x");
  EXPECT_EQ(client.Ask(PostText("/echo", "x")).body, "x");
  EXPECT_EQ(client.Ask(PostText("/llmecho", "x")).status, 404);
  EXPECT_EQ(server->root_path(), "/llm");
  config.listen.root_path = "llm";
  EXPECT_FALSE(Server::Start(config).ok()) << "it is no path";
}

TEST(Server, SaysWhichFlagCannotBeUsed) {
  ServerConfig config = TestServerConfig();
  config.listen.host = "no such host";
  const auto host = Server::Start(config);
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.status().message().rfind("--host: ", 0), 0u) << host.status().message();
  // A variable of a shell that is unset must not open the server to all.
  config.listen.host = "";
  const auto nowhere = Server::Start(config);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_TRUE(nowhere.status().message().starts_with("host: ")) << nowhere.status().message();
  config = TestServerConfig();
  config.tls.certfile = config.tls.keyfile = "/nothing.pem";
  const auto tls = Server::Start(config);
  ASSERT_FALSE(tls.ok());
  EXPECT_NE(tls.status().message().find("/nothing.pem"), std::string::npos);
  config = TestServerConfig();
  config.access.api_key_file = "/nothing";
  EXPECT_FALSE(Server::Start(config).ok());
  const auto first = StartTestServer(TestServerConfig(), {});
  config = TestServerConfig();
  config.listen.port = first->port();
  EXPECT_FALSE(Server::Start(config).ok());
}

}  // namespace
}  // namespace quire
