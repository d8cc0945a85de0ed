// From a path to a model that is ready to compute.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/strings.h"
#include "runner/runner_state.h"

namespace quire {
namespace {

bool ComputesFloat32(const EngineConfig& config) {
  return config.model.effective_compute_dtype() == ComputeDtype::kFloat32;
}

// What the person at the keyboard asks for, so that every program and test obeys it alike.
std::optional<std::string_view> WishedIsa() {
  const char* wish = std::getenv("QUIRE_CPU_ISA");  // NOLINT(concurrency-mt-unsafe): read at start
  if (wish == nullptr || *wish == '\0') return std::nullopt;
  return wish;
}

// `auto` has been replaced by a folder where a program keeps one.
PackedCacheOptions PackedCacheOf(const ModelOptions& model) {
  PackedCacheOptions options;
  if (model.packed_cache == "auto" || model.packed_cache == "off") return options;
  options.folder = model.packed_cache;
  options.max_bytes = static_cast<std::uint64_t>(model.packed_cache_bytes);
  return options;
}

std::string KvDtypeName(DType dtype) {
  if (dtype == DType::kF32) return "float32";
  if (dtype == DType::kI8) return "int8_per_token_head";
  return dtype == DType::kF16 ? "float16" : "bfloat16";
}

ForwardCost CostOf(const ModelConfig& config) {
  const auto layers = static_cast<double>(config.num_layers);
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto queries = static_cast<double>(config.num_heads * config.head_dim);
  const auto keys = static_cast<double>(config.num_kv_heads * config.head_dim);
  const double attention = hidden * (2 * queries + 2 * keys);
  const double mlp = 3 * hidden * static_cast<double>(config.intermediate_size);
  return {.per_token = layers * (attention + mlp),
          .per_logits_row = hidden * static_cast<double>(config.vocab_size),
          .per_pair = layers * 2 * queries};
}

ModelFacts CollectFacts(const EngineConfig& config, const Checkpoint& checkpoint,
                        const Model& model) {
  ModelFacts facts;
  facts.path = config.model.model;
  facts.architecture = model.config().architecture;
  facts.vocab_size = model.config().vocab_size;
  facts.max_positions = model.config().max_positions;
  facts.eos_token_ids = model.config().eos_token_ids;
  facts.generation_config = checkpoint.generation_config();
  facts.kv_spec = model.kv_spec();
  facts.weight_bytes = model.weight_bytes();
  facts.cost = CostOf(model.config());
  return facts;
}

LogprobsKind KindOf(LogprobsMode mode) {
  return {.is_processed =
              mode == LogprobsMode::kProcessedLogprobs || mode == LogprobsMode::kProcessedLogits,
          .is_logits = mode == LogprobsMode::kRawLogits || mode == LogprobsMode::kProcessedLogits};
}

// More threads than this a processor only stand in each other's way.
constexpr int kMaxThreadsPerProcessor = 16;

Status CheckThreads(const ParallelOptions& parallel) {
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int most = processors * kMaxThreadsPerProcessor;
  if (parallel.threads <= most) return {};
  return InvalidArgument(StrCat("threads: must be at most ", most, " on this machine of ",
                                processors, " processors, got ", parallel.threads));
}

}  // namespace

Result<std::unique_ptr<ModelRunner>> ModelRunner::Load(const EngineConfig& config,
                                                       const LoadProgress& progress) {
  QUIRE_RETURN_IF_ERROR(CheckThreads(config.parallel));
  auto state = std::make_unique<State>();
  QUIRE_ASSIGN_OR_RETURN(const kernels::CpuIsa isa, kernels::ChooseIsa(WishedIsa()));
  state->table = kernels::MakeTable(isa);
  // What rounds queries on their way.
  if (ComputesFloat32(config)) state->table.attend_pairs = nullptr;
  state->pool = std::make_unique<ThreadPool>(
      ThreadPoolOptions{.num_threads = config.parallel.threads, .pin = config.parallel.pin});
  state->ctx = {.table = &state->table, .pool = state->pool.get(), .scratch = &state->scratch};

  MapOptions map;
  map.use_mmap = config.model.use_mmap;
  map.lock = config.model.mlock;
  QUIRE_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::Open(config.model.model, map));
  QUIRE_ASSIGN_OR_RETURN(const ModelConfig description,
                         ReadModelConfig(*checkpoint, config.model.hf_overrides));
  LoadOptions options;
  options.precision =
      ComputesFloat32(config) ? ops::MatmulPrecision::kFloat32 : ops::MatmulPrecision::kFast;
  options.progress = progress;
  options.packed_cache = PackedCacheOf(config.model);
  QUIRE_ASSIGN_OR_RETURN(state->model, LoadModel(state->ctx, checkpoint, description, options));

  state->facts = CollectFacts(config, *checkpoint, *state->model);
  state->kv_dtype = KvCacheElementType(config, state->table);
  state->facts.kv_dtype = KvDtypeName(state->kv_dtype);
  state->facts.kv_element = KvElementOf(state->kv_dtype);
  state->facts.num_threads = state->pool->num_threads();
  state->facts.isa = std::string(kernels::ToString(isa));
  state->sampler = std::make_unique<Sampler>(static_cast<std::int32_t>(state->facts.vocab_size),
                                             KindOf(config.model.logprobs_mode));
  return std::unique_ptr<ModelRunner>(new ModelRunner(std::move(state)));
}

}  // namespace quire
