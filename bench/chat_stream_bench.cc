// What one streamed token costs the output thread: an output of the engine made into a chunk.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <benchmark/benchmark.h>

#include "engine/testing.h"
#include "exec/null_executor.h"
#include "server/chat_listeners.h"

namespace quire {
namespace {

// Takes everything and keeps nothing.
class Sink : public HttpReply {
 public:
  void AddHeader(HttpHeader /*header*/) override {}
  void Send(HttpResponse /*response*/) override {}
  void BeginStream(HttpResponse head) override { num_bytes_ += head.body.size(); }
  bool Write(std::string_view bytes) override {
    num_bytes_ += bytes.size();
    return true;
  }
  void EndStream() override {}
  void OnClientGone(std::function<void()> /*gone*/) override {}

  std::size_t num_bytes() const { return num_bytes_; }

 private:
  std::size_t num_bytes_ = 0;
};

std::shared_ptr<AsyncEngine> MakeEngine() {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = 64;
  const auto make = []() -> Result<std::unique_ptr<Executor>> {
    return std::unique_ptr<Executor>(new NullExecutor(NullExecutor::SmallFacts(300, 512),
                                                      [](RequestId, std::int32_t) { return 'a'; }));
  };
  return *AsyncEngine::CreateOver(config, {}, make, MakeTestTokenizer());
}

RequestOutput Token() {
  RequestOutput output;
  output.request_id = "chatcmpl-0123456789abcdef";
  CompletionOutput answer;
  answer.text = " token";
  answer.token_ids = {97};
  output.outputs.push_back(std::move(answer));
  return output;
}

// tools: 0 none, 1 looked for in every token's text.
void StreamedToken(benchmark::State& bench) {
  ApiState state;
  state.options.served_model_names = {"model"};
  if (bench.range(0) == 1) state.tools = *FindToolFormat("hermes", "");
  const auto sink = std::make_shared<Sink>();
  ApiCall call{state, std::make_shared<const HttpRequest>(), sink, MakeEngine(), {}};
  ChatJob job;
  job.head = {.id = "chatcmpl-0123456789abcdef", .model = "model", .created = 1'700'000'000};
  job.tools.mode = bench.range(0) == 1 ? ToolMode::kAuto : ToolMode::kNone;
  ChatAnswerShape shape;
  shape.delivery.is_stream = true;
  shape.role = "assistant";
  const auto listener = MakeChatListener(std::move(call), std::move(job), std::move(shape));
  RequestOutput first = Token();
  first.prompt_token_ids = {1, 2, 3};
  listener->Hear(0, std::move(first));
  for (auto _ : bench) {
    benchmark::DoNotOptimize(listener->Hear(0, Token()));
  }
  bench.counters["bytes"] =
      static_cast<double>(sink->num_bytes()) / static_cast<double>(bench.iterations());
}
BENCHMARK(StreamedToken)->ArgName("tools")->Arg(0)->Arg(1);

}  // namespace
}  // namespace quire
BENCHMARK_MAIN();
