#include "tests/stress/null_server.h"

#include <chrono>
#include <utility>

#include "engine/testing.h"
#include "exec/null_executor.h"

namespace quire {

namespace {

constexpr int kVocab = 300;
constexpr int kMaxPositions = 8192;

}  // namespace

Result<std::unique_ptr<NullServer>> NullServer::Start(const NullServerOptions& options) {
  EngineConfig config;
  config.model.model = "null";
  config.model.generation_config = "vllm";
  config.cache.num_gpu_blocks_override = options.num_blocks;
  config.scheduler.max_num_seqs = options.max_num_seqs;
  config.scheduler.max_num_batched_tokens = 8192;
  std::unique_ptr<NullServer> null(new NullServer);
  QUIRE_ASSIGN_OR_RETURN(auto engine,
                         AsyncEngine::CreateOver(
                             config, {},
                             [step_us = options.step_us]() -> Result<std::unique_ptr<Executor>> {
                               return std::unique_ptr<Executor>(std::make_unique<NullExecutor>(
                                   NullExecutor::SmallFacts(kVocab, kMaxPositions),
                                   [](RequestId, std::int32_t idx) { return NullToken(idx); },
                                   std::chrono::microseconds(step_us)));
                             },
                             MakeTestTokenizer()));
  null->engine_ = std::move(engine);
  const auto source = [raw = null.get()] { return raw->engine_; };
  QUIRE_ASSIGN_OR_RETURN(
      null->api_,
      Api::Create({.served_model_names = {"null"}, .model_root = "null", .version = "0"}, source));
  QUIRE_ASSIGN_OR_RETURN(null->server_, Server::Start(options.server));
  null->server_->Serve(null->api_->Routes(), {.engine = source, .version = "0"});
  return null;
}

// In the order in which `quire serve` ends.
NullServer::~NullServer() {
  if (engine_ != nullptr) engine_->Shutdown(std::chrono::milliseconds(0));
  if (server_ != nullptr) server_->Stop(std::chrono::milliseconds(500));
}

}  // namespace quire
