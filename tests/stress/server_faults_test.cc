// What clients do to a server, on purpose or not, and what must be left afterwards: nothing.
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "base/strings.h"
#include "formats/json.h"
#include "server/testing.h"
#include "tests/stress/null_server.h"

namespace quire {
namespace {

using std::chrono::milliseconds;

constexpr int kNumAborts = 1000;
constexpr int kNumDeaf = 300;
constexpr int kNumHalfOpen = 200;

std::string Completion(int max_tokens, bool is_stream, std::string_view more = {}) {
  return PostText("/v1/completions",
                  StrCat(R"({"prompt":"hello there","ignore_eos":true,"max_tokens":)", max_tokens,
                         is_stream ? R"(,"stream":true)" : "", more, "}"));
}

// After what was freed has been given back to the system.
double ResidentMegabytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

class ServerFaults : public testing::Test {
 protected:
  ServerFaults() {
    NullServerOptions options;
    options.server = TestServerConfig();
    options.server.limits.header_timeout = 1;
    options.server.limits.body_timeout = 1;
    options.server.limits.write_timeout = 1;
    options.server.limits.max_send_buffer_bytes = 64 << 10;
    options.step_us = 200;
    null_ = *NullServer::Start(options);
  }

  int port() const { return null_->port(); }

  // A client that is there and then is not, at any point of its request.
  void AbortAtRandom(std::mt19937& random, int count) const {
    for (int i = 0; i < count; ++i) {
      TestClient client(port());
      const std::string request = Completion(2000, random() % 2 == 0, R"(,"n":2)");
      const bool is_cut = random() % 4 == 0;
      client.Send(is_cut ? request.substr(0, random() % request.size()) : request);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
      if (random() % 2 == 0) {
        const linger hard{.l_onoff = 1, .l_linger = 0};
        setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);  // a reset
      }
    }
  }

  std::vector<std::unique_ptr<TestClient>> Connect(int count) const {
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<TestClient>(port()));
    return clients;
  }

  void StopReading(int count) const {
    const auto clients = Connect(count);
    for (const auto& client : clients) {
      const int small = 4096;
      setsockopt(client->fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
      client->Send(Completion(8000, true, R"(,"logprobs":5)"));
    }
    EXPECT_TRUE(Eventually([&] { return null_->server().num_active() == 0; }));
  }

  void LeaveHalfOpen(int count) const {
    const auto clients = Connect(count);
    const std::string whole = Completion(5, true);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i]->Send(whole.substr(0, i * whole.size() / clients.size()));
    }
    for (const auto& client : clients) EXPECT_TRUE(client->WaitForEnd());
  }

  void ExpectNothingIsLeft() const {
    EXPECT_TRUE(Eventually([&] { return null_->engine().num_live() == 0; }));
    EXPECT_TRUE(Eventually([&] {
      const SchedulerStats stats = null_->engine().stats().scheduler;
      return stats.num_running == 0 && stats.num_waiting == 0 && stats.num_used_blocks == 0;
    }));
    EXPECT_TRUE(Eventually([&] { return null_->server().num_active() == 0; }));
    EXPECT_TRUE(Eventually([&] { return null_->server().num_connections() == 0; }));
    TestClient client(port());
    const auto answer = client.Ask(Completion(3, false));
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find("\"text\":\"abc\""), std::string::npos) << answer.body;
  }

  std::unique_ptr<NullServer> null_;
};

TEST_F(ServerFaults, LeaveNothingBehind) {
  std::mt19937 random(7);
  const auto strain = [&](int num_aborts, int num_deaf, int num_half_open) {
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) {
      threads.emplace_back([this, num_aborts, seed] {
        std::mt19937 own(seed);
        AbortAtRandom(own, num_aborts / 4);
      });
    }
    threads.emplace_back([this, num_deaf] { StopReading(num_deaf); });
    threads.emplace_back([this, num_half_open] { LeaveHalfOpen(num_half_open); });
    for (std::thread& thread : threads) thread.join();
    ExpectNothingIsLeft();
  };
  // What grows up to a bound, as the traces of the last requests do, is grown then.
  for (int i = 0; i < 3; ++i) strain(kNumAborts, kNumDeaf, kNumHalfOpen);
  const double before = ResidentMegabytes();
  strain(kNumAborts, kNumDeaf, kNumHalfOpen);
  const double after = ResidentMegabytes();
  RecordProperty("resident_mb_before", StrCat(before));
  RecordProperty("resident_mb_after", StrCat(after));
  EXPECT_LT(after, before * 1.05) << "before: " << before << " MB";
}

// Requests that are wrong in one way each.
std::vector<std::string> MalformedRequests() {
  std::vector<std::string> requests;
  const std::string ten_megabytes(10'000'000, 'x');
  const std::vector<std::string> bodies = {
      "",
      "null",
      "[]",
      "7",
      "\"text\"",
      "{\"prompt\" 5}",
      "{\"prompt\":",
      "{\"prompt\": \"\xff\"}",
      "{\"prompt\": \"caf\xe9\"}",
      "{\"messages\": null}",
      "{\"messages\": \"x\"}",
      "{\"messages\": []}",
      "{\"messages\": [null]}",
      "{\"messages\": [7]}",
      "{\"messages\": [{\"role\": \"user\", \"content\": null}]}",
      "{\"messages\": [{\"role\": 1, \"content\": \"x\"}]}",
      "{\"prompt\": [-1]}",
      "{\"prompt\": [999999]}",
      "{\"prompt\": []}",
      "{\"prompt\": [[]]}",
      "{\"prompt\": \"x\", \"max_tokens\": -5}",
      "{\"prompt\": \"x\", \"max_tokens\": 1e99}",
      "{\"prompt\": \"x\", \"temperature\": \"hot\"}",
      "{\"prompt\": \"x\", \"logit_bias\": {\"999999\": 1}}",
      "{\"prompt\": \"x\", \"n\": 1000000}",
      "{\"prompt\": \"x\", \"stop\": [\"\"]}",
      StrCat("{\"unknown\": ", std::string(10'000, '['), std::string(10'000, ']'), "}"),
      std::string(10'000, '['),
      StrCat(std::string(10'000, '{'), "\"a\":"),
      StrCat("{\"prompt\": ", ten_megabytes),
      StrCat("{\"prompt\": \"", ten_megabytes, "\"}"),
      std::string(20'000'000, ' '),
  };
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/v1/responses",
                           "/v1/messages", "/tokenize", "/detokenize"}) {
    for (const std::string& body : bodies) requests.push_back(PostText(path, body));
  }
  return requests;
}

// Texts are what /tokenize is for, if not of any length, and it has no sampling parameters.
bool IsRightHere(const std::string& request) {
  constexpr std::size_t kLong = 1'000'000;
  return request.starts_with("POST /tokenize") && request.size() < kLong &&
         request.find("\"prompt\": \"x") != std::string::npos;
}

void ExpectRefusals(int port) {
  for (const std::string& request : MalformedRequests()) {
    TestClient client(port);
    const auto answer = client.Ask(request);
    const std::string shown = StrCat(request.substr(0, 40), " … ", request.size(),
                                     " bytes: ", request.substr(request.find("\r\n\r\n") + 4, 60));
    if (IsRightHere(request)) {
      EXPECT_EQ(answer.status, 200) << shown;
      continue;
    }
    EXPECT_GE(answer.status, 400) << shown << answer.body.substr(0, 200);
    EXPECT_LT(answer.status, 500) << shown << answer.body.substr(0, 200);
    EXPECT_TRUE(IsValidUtf8(answer.body)) << shown;
    const auto json = ParseJson(answer.body);
    ASSERT_TRUE(json.ok()) << shown << answer.body;
    EXPECT_NE(json->Find("error"), nullptr) << shown;
  }
}

TEST_F(ServerFaults, EveryMalformedRequestIsTheClientsFaultInOneShape) {
  SetLogLevel(LogLevel::kError);  // each unknown field has its line
  ExpectRefusals(port());
  ExpectNothingIsLeft();
  const double before = ResidentMegabytes();
  ExpectRefusals(port());
  ExpectNothingIsLeft();
  const double after = ResidentMegabytes();
  EXPECT_LT(after, before * 1.05) << "before: " << before << " MB";
}

TEST_F(ServerFaults, EveryStreamEndsWithAReasonWhenTheServerEndsUnderLoad) {
  constexpr int kNumStreams = 64;
  const auto clients = Connect(kNumStreams);
  for (const auto& client : clients) client->Send(Completion(8000, true));
  for (const auto& client : clients) ASSERT_TRUE(client->FillUntil("\"text\""));
  std::thread ender([&] { null_.reset(); });
  for (const auto& client : clients) {
    const auto answer = client->Read();
    EXPECT_TRUE(answer.is_whole);
    EXPECT_NE(answer.body.find("\"error\":{"), std::string::npos);
    client->Close();
  }
  ender.join();
}

// What is done between two answers of the engine is not felt by others.
TEST_F(ServerFaults, HealthIsAnsweredWhileLargeAndHostileBodiesAreRead) {
  const std::string hostile =
      PostText("/v1/completions", StrCat("{\"prompt\": \"", std::string(9'000'000, 'a'), "\"}"));
  std::atomic<int> num_hostile = 0;
  std::jthread pest([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      TestClient(port()).Ask(hostile);
      ++num_hostile;
    }
  });
  TestClient client(port());
  constexpr int kNumAsked = 200;
  for (int i = 0; i < kNumAsked; ++i) {
    ASSERT_EQ(client.Ask(GetText("/health")).status, 200);
    std::this_thread::sleep_for(milliseconds(5));
  }
  // Were each to wait for a body, as many bodies would have been read by now.
  EXPECT_LT(num_hostile, kNumAsked / 2);
}

}  // namespace
}  // namespace quire
