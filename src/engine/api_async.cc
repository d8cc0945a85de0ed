#include <chrono>
#include <utility>

#include "engine/api_convert.h"
#include "engine/async_engine.h"
#include "quire/engine.h"

namespace quire::api {

struct AsyncEngine::State {
  std::unique_ptr<::quire::AsyncEngine> engine;
};

AsyncEngine::AsyncEngine(std::unique_ptr<State> state) : state_(std::move(state)) {}
AsyncEngine::AsyncEngine(AsyncEngine&&) noexcept = default;
AsyncEngine& AsyncEngine::operator=(AsyncEngine&&) noexcept = default;
AsyncEngine::~AsyncEngine() = default;

Result<AsyncEngine> AsyncEngine::Create(const std::string& model, const Options& options) {
  const auto config = ToEngineConfig(model, options);
  if (!config.ok()) return ToPublic(config.status());
  auto engine = ::quire::AsyncEngine::Create(*config, {}, {});
  if (!engine.ok()) return ToPublic(engine.status());
  auto state = std::make_unique<State>();
  state->engine = *std::move(engine);
  return AsyncEngine(std::move(state));
}

Status AsyncEngine::Submit(const std::string& request_id, const Prompt& prompt,
                           const Options& sampling, OutputCallback callback) {
  auto params = ToSamplingParams(state_->engine->sampling_defaults(), sampling);
  if (!params.ok()) return ToPublic(params.status());
  PromptInput input = ToPromptInput(prompt, *std::move(params));
  input.sampling.output_kind = OutputKind::kDelta;
  return ToPublic(state_->engine->Submit(request_id, std::move(input),
                                         [callback = std::move(callback)](RequestOutput output) {
                                           if (callback) callback(ToPublic(std::move(output)));
                                         }));
}

void AsyncEngine::Abort(const std::string& request_id) { state_->engine->Abort(request_id); }

void AsyncEngine::Drain() { state_->engine->Drain(); }

void AsyncEngine::Shutdown(int grace_ms) {
  state_->engine->Shutdown(std::chrono::milliseconds(grace_ms));
}

}  // namespace quire::api
