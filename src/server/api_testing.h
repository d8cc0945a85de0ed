// What the tests of the routes share: a reply that records, and routes over a scripted engine.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "base/strings.h"
#include "config/engine_config.h"
#include "engine/async_engine.h"
#include "engine/testing.h"
#include "exec/null_executor.h"
#include "formats/json.h"
#include "server/api.h"
#include "server/http.h"

namespace quire {

// Makes an engine's worker whose every answer is `tokens` and then the end, each after `delay_ms`.
inline AsyncEngine::ExecutorFactory Gives(std::vector<TokenId> tokens, int delay_ms = 0) {
  return [tokens = std::move(tokens), delay_ms]() -> Result<std::unique_ptr<Executor>> {
    const auto script = [tokens, delay_ms](RequestId, std::int32_t idx) -> TokenId {
      if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
      const auto i = static_cast<std::size_t>(idx);
      return i < tokens.size() ? tokens[i] : kTestEos;
    };
    return std::unique_ptr<Executor>(new NullExecutor(NullExecutor::SmallFacts(300, 2048), script));
  };
}

// The same of a text, a token a byte.
inline AsyncEngine::ExecutorFactory Says(std::string_view text, int delay_ms = 0) {
  std::vector<TokenId> tokens;
  for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  return Gives(std::move(tokens), delay_ms);
}

// Records an answer. `max_writes` of a stream are taken, then the client counts as gone.
class RecordingReply : public HttpReply {
 public:
  void AddHeader(HttpHeader header) override {
    MutexLock lock(mutex_);
    headers_.push_back(std::move(header));
  }
  void Send(HttpResponse response) override {
    MutexLock lock(mutex_);
    EXPECT_FALSE(has_ended_) << "answered twice";
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
    response_ = std::move(response);
    has_ended_ = true;
    changed_.notify_all();
  }
  void BeginStream(HttpResponse head) override {
    MutexLock lock(mutex_);
    EXPECT_FALSE(is_stream_ || has_ended_);
    is_stream_ = true;
    writes_.push_back(head.body);
    head.headers.insert(head.headers.end(), headers_.begin(), headers_.end());
    response_ = std::move(head);
    changed_.notify_all();
  }
  bool Write(std::string_view bytes) override {
    MutexLock lock(mutex_);
    EXPECT_TRUE(is_stream_ && !has_ended_);
    if (writes_.size() >= max_writes_) return false;
    writes_.emplace_back(bytes);
    response_.body += bytes;
    changed_.notify_all();
    return true;
  }
  void EndStream() override {
    MutexLock lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }
  void OnClientGone(std::function<void()> gone) override {
    MutexLock lock(mutex_);
    gone_ = std::move(gone);
  }

  void Leave() {
    std::function<void()> gone;
    {
      MutexLock lock(mutex_);
      gone = gone_;
    }
    if (gone) gone();
  }
  void set_max_writes(std::size_t count) {
    MutexLock lock(mutex_);
    max_writes_ = count;
  }

  // Waits until `count` pieces of a stream came, or the answer has ended.
  void WaitForWrites(std::size_t count) {
    WaitUntil([&] { return writes_.size() >= count || has_ended_; });
  }
  HttpResponse WaitForEnd() {
    WaitUntil([&] { return has_ended_; });
    MutexLock lock(mutex_);
    EXPECT_TRUE(has_ended_) << "no answer";
    return response_;
  }
  std::vector<std::string> writes() {
    MutexLock lock(mutex_);
    return writes_;
  }

 private:
  void WaitUntil(const std::function<bool()>& holds) QUIRE_NO_THREAD_ANALYSIS {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    MutexLock lock(mutex_);
    while (!holds() && changed_.wait_until(mutex_, deadline) == std::cv_status::no_timeout) {
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<HttpHeader> headers_;
  HttpResponse response_;
  std::vector<std::string> writes_;
  std::function<void()> gone_;
  std::size_t max_writes_ = SIZE_MAX;
  bool is_stream_ = false;
  bool has_ended_ = false;
};

// The values of `data:` lines that are JSON, in order.
inline std::vector<Json> EventsOf(const std::string& body) {
  std::vector<Json> events;
  for (const std::string_view line : Split(body, '\n')) {
    if (!line.starts_with("data: {")) continue;
    Result<Json> event = ParseJson(line.substr(6));
    EXPECT_TRUE(event.ok()) << line;
    if (event.ok()) events.push_back(*std::move(event));
  }
  return events;
}

// The member at a path of names and indices: At(json, "choices", 0, "text").
inline const Json& At(const Json& json) { return json; }
template <typename... Rest>
const Json& At(const Json& json, std::string_view name, Rest... rest) {
  static const Json absent;
  const Json* member = json.Find(name);
  return At(member == nullptr ? absent : *member, rest...);
}
template <typename... Rest>
const Json& At(const Json& json, int index, Rest... rest) {
  static const Json absent;
  const auto i = static_cast<std::size_t>(index);
  return At(json.is_array() && i < json.array().size() ? json.array()[i] : absent, rest...);
}
inline std::string TextOf(const Json& json) { return json.is_string() ? json.string() : ""; }

// The text of a stream of either kind.
inline std::string JoinedText(const std::vector<Json>& events) {
  std::string text;
  for (const Json& event : events) {
    const Json& choice = At(event, "choices", 0);
    text += TextOf(At(choice, "text")) + TextOf(At(choice, "delta", "content"));
  }
  return text;
}

// A template that shows all that it is given.
inline constexpr std::string_view kTestTemplate =
    "{% if tools %}[{{ tools | length }} tools]{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}"
    "{% for c in m.tool_calls %}({{ c.function.name }} {{ c.function.arguments | tojson }})"
    "{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

class ApiRig {
 public:
  static EngineConfig SmallConfig() {
    EngineConfig config;
    config.model.model = "null";
    config.model.generation_config = "vllm";
    config.cache.num_gpu_blocks_override = 1024;
    config.scheduler.max_num_seqs = 64;
    config.scheduler.max_num_batched_tokens = 512;
    return config;
  }
  static ApiOptions SmallOptions() {
    ApiOptions options;
    options.served_model_names = {"model", "alias"};
    options.version = "1.0";
    options.chat_template = kTestTemplate;
    options.tool_call_parser = "hermes";
    options.reasoning_parser = "";
    return options;
  }

  // `executor` makes the engine's worker; `words` are tokens beside the bytes.
  explicit ApiRig(const AsyncEngine::ExecutorFactory& executor, ApiOptions options = SmallOptions(),
                  const std::vector<std::string>& words = {})
      : ApiRig(executor, std::move(options), MakeTestTokenizer(words)) {}
  ApiRig(const AsyncEngine::ExecutorFactory& executor, ApiOptions options,
         std::shared_ptr<const Tokenizer> tokenizer) {
    auto made = AsyncEngine::CreateOver(SmallConfig(), {}, executor, std::move(tokenizer));
    EXPECT_TRUE(made.ok()) << made.status().message();
    engine_ = *std::move(made);
    auto api = Api::Create(std::move(options), [this] { return engine_; });
    EXPECT_TRUE(api.ok()) << api.status().message();
    api_ = *std::move(api);
    routes_ = api_->Routes();
  }
  ~ApiRig() { engine_->Shutdown(std::chrono::milliseconds(0)); }

  AsyncEngine& engine() { return *engine_; }

  // Begins a request.
  std::shared_ptr<RecordingReply> Begin(std::string method, std::string path, std::string body,
                                        std::vector<HttpHeader> headers = {},
                                        std::size_t max_writes = SIZE_MAX) {
    auto request = std::make_shared<HttpRequest>();
    request->method = std::move(method);
    const std::size_t query = path.find('?');
    if (query != std::string::npos) request->query = path.substr(query + 1);
    request->path = path.substr(0, query);
    request->body = std::move(body);
    request->headers = std::move(headers);
    request->request_id = StrCat("test-", ++num_requests_);
    auto reply = std::make_shared<RecordingReply>();
    reply->set_max_writes(max_writes);
    const HttpHandler* handler = Find(request->method, request->path);
    EXPECT_NE(handler, nullptr) << request->path;
    if (handler != nullptr) (*handler)(request, reply);
    return reply;
  }
  HttpResponse Post(std::string path, std::string body, std::vector<HttpHeader> headers = {}) {
    return Begin("POST", std::move(path), std::move(body), std::move(headers))->WaitForEnd();
  }
  HttpResponse Get(std::string path) { return Begin("GET", std::move(path), "")->WaitForEnd(); }

  // The body of an answer that must be 200.
  Json PostOk(std::string path, std::string body) {
    const HttpResponse response = Post(std::move(path), std::move(body));
    EXPECT_EQ(response.status, 200) << response.body;
    const Result<Json> json = ParseJson(response.body);
    EXPECT_TRUE(json.ok()) << response.body;
    return json.ok() ? *json : Json();
  }
  // The events of a stream that must be 200.
  std::vector<Json> Stream(std::string path, std::string body) {
    const HttpResponse response = Post(std::move(path), std::move(body));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.content_type, "text/event-stream; charset=utf-8");
    return EventsOf(response.body);
  }
  // Expects a refusal in the one shape; gives its param.
  std::string Refused(std::string path, std::string body, int status = 400) {
    const HttpResponse response = Post(std::move(path), std::move(body));
    EXPECT_EQ(response.status, status) << response.body;
    const Result<Json> json = ParseJson(response.body);
    EXPECT_TRUE(json.ok()) << response.body;
    if (!json.ok()) return "";
    EXPECT_TRUE(At(*json, "error", "message").is_string()) << response.body;
    EXPECT_EQ(At(*json, "error", "code"), Json(status));
    return TextOf(At(*json, "error", "param"));
  }

 private:
  const HttpHandler* Find(std::string_view method, std::string_view path) const {
    for (const Route& route : routes_) {
      if (route.method == method && route.path == path) return &route.handler;
    }
    for (const Route& route : routes_) {
      if (route.method != method) continue;
      const auto wanted = Split(route.path, '/');
      const auto parts = Split(path, '/');
      if (wanted.size() == parts.size() &&
          std::equal(wanted.begin(), wanted.end(), parts.begin(),
                     [](auto a, auto b) { return a.starts_with('{') || a == b; })) {
        return &route.handler;
      }
    }
    return nullptr;
  }

  std::shared_ptr<AsyncEngine> engine_;
  std::unique_ptr<Api> api_;
  std::vector<Route> routes_;
  int num_requests_ = 0;
};

// A stream put together as a client does.
struct JoinedChat {
  std::string role, content, reasoning, finish_reason;
  std::vector<std::string> names, ids, arguments;
};
inline JoinedChat JoinChat(const std::vector<Json>& events) {
  JoinedChat joined;
  for (const Json& event : events) {
    const Json& choice = At(event, "choices", 0);
    const Json& delta = At(choice, "delta");
    joined.role += TextOf(At(delta, "role"));
    joined.content += TextOf(At(delta, "content"));
    joined.reasoning += TextOf(At(delta, "reasoning"));
    joined.finish_reason += TextOf(At(choice, "finish_reason"));
    const Json& calls = At(delta, "tool_calls");
    if (!calls.is_array()) continue;
    for (const Json& call : calls.array()) {
      const auto index = static_cast<std::size_t>(At(call, "index").integer());
      if (At(call, "id").is_string()) {
        EXPECT_EQ(index, joined.ids.size());
        EXPECT_EQ(At(call, "type"), Json("function"));
        EXPECT_EQ(At(call, "function", "arguments"), Json(""));
        joined.ids.push_back(TextOf(At(call, "id")));
        joined.names.push_back(TextOf(At(call, "function", "name")));
        joined.arguments.emplace_back();
      } else {
        EXPECT_EQ(At(call, "function").Find("name"), nullptr);
        joined.arguments.at(index) += TextOf(At(call, "function", "arguments"));
      }
    }
  }
  return joined;
}

}  // namespace quire
