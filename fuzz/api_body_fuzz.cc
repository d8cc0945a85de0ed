// Bodies of requests: whatever they hold, the answer is whole, in the one shape, and no 5xx; and
// the engine is as empty afterwards as before.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"
#include "engine/testing.h"
#include "exec/null_executor.h"
#include "formats/json.h"
#include "server/api.h"

namespace {

using namespace quire;  // NOLINT(google-build-using-namespace): a program of one file

// Waits for an answer.
class Reply : public HttpReply {
 public:
  void AddHeader(HttpHeader header) override {
    std::lock_guard lock(mutex_);
    response_.headers.push_back(std::move(header));
  }
  void Send(HttpResponse response) override {
    std::lock_guard lock(mutex_);
    response_ = std::move(response);
    has_ended_ = true;
    changed_.notify_all();
  }
  void BeginStream(HttpResponse head) override {
    std::lock_guard lock(mutex_);
    response_ = std::move(head);
    is_stream_ = true;
  }
  bool Write(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    response_.body += bytes;
    return true;
  }
  void EndStream() override {
    std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }
  void OnClientGone(std::function<void()> /*gone*/) override {}

  void Check() {
    std::unique_lock lock(mutex_);
    const bool has_ended =
        changed_.wait_for(lock, std::chrono::seconds(30), [this] { return has_ended_; });
    QUIRE_CHECK(has_ended) << "no answer";
    QUIRE_CHECK(response_.status < 500 || response_.status == 501) << response_.body;
    QUIRE_CHECK(IsValidUtf8(response_.body));
    if (!is_stream_) QUIRE_CHECK(ParseJson(response_.body).ok()) << response_.body;
    for (const HttpHeader& header : response_.headers) {
      QUIRE_CHECK(header.value.find_first_of("\r\n") == std::string::npos) << header.name;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  HttpResponse response_;
  bool is_stream_ = false;
  bool has_ended_ = false;
};

struct Rig {
  Rig() {
    EngineConfig config;
    config.model.model = "null";
    config.model.generation_config = "vllm";
    config.cache.num_gpu_blocks_override = 256;
    const auto make = []() -> Result<std::unique_ptr<Executor>> {
      const auto script = [](RequestId, std::int32_t idx) -> TokenId {
        return idx < 4 ? 'a' + idx : kTestEos;
      };
      return std::unique_ptr<Executor>(
          new NullExecutor(NullExecutor::SmallFacts(300, 128), script));
    };
    engine = *AsyncEngine::CreateOver(config, {}, make, MakeTestTokenizer());
    ApiOptions options;
    options.served_model_names = {"model"};
    options.tool_call_parser = "hermes";
    options.reasoning_parser = "qwen3";
    options.chat_template =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls | tojson }}"
        "{% endfor %}";
    api = *Api::Create(options, [this] { return engine; });
    for (Route& route : api->Routes()) {
      if (route.method == "POST" && route.path.find('{') == std::string::npos) {
        routes.push_back(std::move(route));
      }
    }
  }

  std::shared_ptr<AsyncEngine> engine;
  std::unique_ptr<Api> api;
  std::vector<Route> routes;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Rig& rig = *new Rig();
  if (size == 0) return 0;
  const Route& route = rig.routes[data[0] % rig.routes.size()];
  auto request = std::make_shared<HttpRequest>();
  request->method = route.method;
  request->path = route.path;
  request->body.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto reply = std::make_shared<Reply>();
  route.handler(request, reply);
  reply->Check();
  rig.engine->Drain();
  QUIRE_CHECK(rig.engine->num_live() == 0);
  return 0;
}
