// The flags of `vllm serve` that Quire has no options for.
#include "apps/quire/vllm_flags.h"

#include <array>

#include "base/strings.h"

namespace quire {

namespace {

constexpr std::string_view kNoGpu =
    "it sets up kernels and graphs of a GPU; Quire computes with its own kernels";
constexpr std::string_view kNoPython = "it loads Python code; Quire runs none";
constexpr std::string_view kOneProcess = "Quire serves one copy of the model from one process";
constexpr std::string_view kNoExperts = "models with experts are not served";
constexpr std::string_view kTextOnly = "Quire serves text models alone";
constexpr std::string_view kGenerateOnly = "Quire serves generative models alone";
constexpr std::string_view kNoLora = "LoRA adapters are not served";
constexpr std::string_view kNoDrafts = "speculative decoding is not part of the server";
constexpr std::string_view kNoStates = "models with recurrent state are not served";
constexpr std::string_view kNoTransfer = "KV blocks and weights stay in this process's memory";
constexpr std::string_view kFromDisk =
    "Quire reads models from this disk and downloads nothing; give the folder or file as MODEL";
constexpr std::string_view kFromFiles = "it is seen from the model's own files; leave the flag out";
constexpr std::string_view kNoLogging =
    "errors have no stacks here, and steps no log lines; --enable-log-requests and "
    "--enable-log-outputs log what comes and goes";
constexpr std::string_view kOneFingerprint =
    "system_fingerprint names the program and its version, which is what answers depend on";
constexpr std::string_view kFixedBuckets =
    "dashboards expect the buckets that there are; they begin lower than vLLM's";
constexpr std::string_view kNoTelemetry = "see /metrics for what is counted";
constexpr std::string_view kAlwaysSo = "it cannot be changed here from what it is by default";
constexpr std::string_view kAdmin =
    "sleeping needs no preparation here; --enable-admin has the routes";

// One flag. `accepted` are the values, with | between, that mean what is so here anyway; "*" is
// every value. Others are refused for `reason`.
struct VllmFlag {
  std::string_view names;
  bool is_switch = false;
  std::string_view accepted;
  std::string_view reason;
};

constexpr std::array<VllmFlag, 244> kVllmFlags = {{
    {"headless", true, "false", kOneProcess},
    {"grpc", true, "false", kOneProcess},
    {"aggregate-engine-logging", true, "false", kOneProcess},
    {"fail-on-environ-validation", true, "false", kAlwaysSo},
    {"gdn-prefill-backend", false, "", kNoGpu},
    {"kda-prefill-backend", false, "", kNoGpu},
    {"kda-decode-backend", false, "", kNoGpu},
    {"lora-modules", false, "", kNoLora},
    {"trust-request-mm-kwargs", true, "false", kTextOnly},
    {"tool-parser-plugin", false, "", kNoPython},
    {"tool-strict-level", false, "auto", kAlwaysSo},
    {"tool-server", false, "", kAlwaysSo},
    {"enable-per-request-metrics", true, "false", kNoTelemetry},
    {"enable-tokenizer-info-endpoint", true, "false", kAlwaysSo},
    {"enable-log-deltas", true, "*", ""},
    {"cohere-is-reasoning-model", true, "true", kGenerateOnly},
    {"cohere-format", false, "cmd4", kGenerateOnly},
    {"anthropic-disabled-thinking-effort", false, "auto", kAlwaysSo},
    {"log-error-stack", true, "false", kNoLogging},
    {"tokens-only", true, "false", kOneProcess},
    {"enable-scale-out", true, "false", kOneProcess},
    {"fingerprint-mode", false, "full", kOneFingerprint},
    {"fingerprint-value", false, "", kOneFingerprint},
    {"grpc-port", false, "", kOneProcess},
    {"data-parallel-supervisor-port", false, "9256", kOneProcess},
    {"dp-supervisor-probe-interval-s", false, "5.0", kOneProcess},
    {"dp-supervisor-probe-timeout-s", false, "5.0", kOneProcess},
    {"dp-supervisor-probe-failure-threshold", false, "3", kOneProcess},
    {"middleware", false, "", kNoPython},
    {"enable-offline-docs", true, "*", ""},
    {"enable-flash-late-interaction", true, "true", kNoGpu},
    {"runner", false, "auto|generate", kGenerateOnly},
    {"convert", false, "auto|none", kGenerateOnly},
    {"tokenizer-mode", false, "auto|hf", kFromFiles},
    {"trust-remote-code", true, "*", kNoPython},
    {"hf-config-path", false, "", kFromDisk},
    {"allowed-local-media-path", false, "", kTextOnly},
    {"allowed-media-domains", false, "", kTextOnly},
    {"revision", false, "", kFromDisk},
    {"code-revision", false, "", kFromDisk},
    {"tokenizer-revision", false, "", kFromDisk},
    {"quantization,q", false, "", kFromFiles},
    {"quantization-config", false, "", kFromFiles},
    {"allow-deprecated-quantization", true, "false", kFromFiles},
    {"enforce-eager", true, "*", kNoGpu},
    {"enable-return-routed-experts", true, "false", kNoExperts},
    {"return-sampling-mask", true, "false", kAlwaysSo},
    {"use-fp64-gumbel", true, "false", kNoGpu},
    {"enable-trace-replay", true, "false", kNoGpu},
    {"disable-sliding-window", true, "false", kAlwaysSo},
    {"disable-cascade-attn", true, "*", kNoGpu},
    {"skip-tokenizer-init", true, "false", kAlwaysSo},
    {"enable-prompt-embeds", true, "false", kTextOnly},
    {"config-format", false, "auto|hf", kFromFiles},
    {"hf-token", false, "", kFromDisk},
    {"model-class-overrides", false, "", kNoPython},
    {"pooler-config", false, "", kGenerateOnly},
    {"enable-sleep-mode", true, "false", kAdmin},
    {"sleep-mode-offload-cudagraph", true, "false", kNoGpu},
    {"sleep-preserve-parameter-names", false, "", kAdmin},
    {"enable-cumem-allocator", true, "false", kNoGpu},
    {"enable-nccl-comm-suspend", true, "false", kNoGpu},
    {"model-impl", false, "auto", kNoPython},
    {"logits-processors", false, "", kNoPython},
    {"io-processor-plugin", false, "", kNoPython},
    {"load-format", false, "auto", kFromFiles},
    {"download-dir", false, "", kFromDisk},
    {"safetensors-load-strategy", false, "lazy", kFromFiles},
    {"safetensors-prefetch-num-threads", false, "8", kFromFiles},
    {"safetensors-prefetch-block-size", false, "16777216", kFromFiles},
    {"model-loader-extra-config", false, "", kFromFiles},
    {"ignore-patterns", false, "", kFromDisk},
    {"use-tqdm-on-load", true, "*", ""},
    {"pt-load-map-location", false, "cpu", kFromFiles},
    {"attention-backend", false, "", kNoGpu},
    {"mamba-backend", false, "", kNoGpu},
    {"mamba-ssu-algorithm", false, "", kNoGpu},
    {"enable-mamba-cache-stochastic-rounding", true, "false", kNoStates},
    {"mamba-cache-philox-rounds", false, "0", kNoStates},
    {"reasoning-parser-plugin", false, "", kNoPython},
    {"distributed-executor-backend", false, "uni", kOneProcess},
    {"pipeline-parallel-size,pp", false, "1", kOneProcess},
    {"master-addr", false, "127.0.0.1", kOneProcess},
    {"master-port", false, "29501", kOneProcess},
    {"nnodes,n", false, "1", kOneProcess},
    {"node-rank,r", false, "0", kOneProcess},
    {"distributed-timeout-seconds", false, "", kOneProcess},
    {"cpu-distributed-timeout-seconds", false, "", kOneProcess},
    {"numa-bind", true, "false", kOneProcess},
    {"numa-bind-nodes", false, "", kOneProcess},
    {"numa-bind-cpus", false, "", kOneProcess},
    {"device-ids", false, "", kNoGpu},
    {"tensor-parallel-size,tp", false, "1", kOneProcess},
    {"decode-context-parallel-size,dcp", false, "1", kOneProcess},
    {"dcp-comm-backend", false, "", kNoGpu},
    {"dcp-q-replicate", true, "false", kOneProcess},
    {"dcp-kv-cache-interleave-size", false, "1", kOneProcess},
    {"cp-kv-cache-interleave-size", false, "", kOneProcess},
    {"prefill-context-parallel-size,pcp", false, "1", kOneProcess},
    {"data-parallel-size,dp", false, "1", kOneProcess},
    {"data-parallel-rank,dpn", false, "", kOneProcess},
    {"data-parallel-start-rank,dpr", false, "", kOneProcess},
    {"data-parallel-size-local,dpl", false, "", kOneProcess},
    {"data-parallel-address,dpa", false, "", kOneProcess},
    {"data-parallel-rpc-port,dpp", false, "", kOneProcess},
    {"data-parallel-backend,dpb", false, "mp", kOneProcess},
    {"data-parallel-hybrid-lb,dph", true, "false", kOneProcess},
    {"data-parallel-external-lb,dpe", true, "false", kOneProcess},
    {"data-parallel-multi-port-external-lb,dpm", true, "false", kOneProcess},
    {"enable-hc-sp", true, "false", kOneProcess},
    {"enable-expert-parallel,ep", true, "false", kNoExperts},
    {"enable-batch-sharded-sampling", true, "false", kOneProcess},
    {"enable-ep-weight-filter", true, "false", kNoExperts},
    {"all2all-backend", false, "allgather_reducescatter", kNoExperts},
    {"enable-dbo", true, "false", kOneProcess},
    {"enable-shm-tensor-arena", true, "false", kOneProcess},
    {"ubatch-size", false, "0", kOneProcess},
    {"enable-elastic-ep", true, "false", kNoExperts},
    {"elastic-ep-max-dp-size", false, "", kNoExperts},
    {"dbo-decode-token-threshold", false, "32", kOneProcess},
    {"dp-sync-interval", false, "16", kOneProcess},
    {"dbo-prefill-token-threshold", false, "512", kOneProcess},
    {"disable-nccl-for-dp-synchronization", true, "false", kOneProcess},
    {"enable-eplb", true, "false", kNoExperts},
    {"eplb-config", false, "", kNoExperts},
    {"expert-placement-strategy", false, "linear", kNoExperts},
    {"max-parallel-loading-workers", false, "", kOneProcess},
    {"ray-workers-use-nsight", true, "false", kNoGpu},
    {"disable-custom-all-reduce", true, "*", kNoGpu},
    {"worker-cls", false, "auto", kNoPython},
    {"worker-extension-cls", false, "", kNoPython},
    {"enable-fault-tolerance", true, "false", kOneProcess},
    {"fault-tolerance-config", false, "", kOneProcess},
    {"prefix-cache-retention-interval", false, "0", kAlwaysSo},
    {"kv-cache-dtype-skip-layers", false, "", kAlwaysSo},
    {"kv-sharing-fast-prefill", true, "false", kAlwaysSo},
    {"swa-bounded-replay", true, "true", kAlwaysSo},
    {"mamba-cache-dtype", false, "auto", kNoStates},
    {"mamba-ssm-cache-dtype", false, "auto", kNoStates},
    {"mamba-block-size", false, "", kNoStates},
    {"prefix-match-unit", false, "", kNoStates},
    {"mamba-cache-mode", false, "none", kNoStates},
    {"enable-mamba-shared-prefix-checkpoint", true, "false", kNoStates},
    {"replayssm-buffer-len", false, "16", kNoStates},
    {"use-replayssm", true, "false", kNoStates},
    {"kv-offloading-size", false, "", kNoTransfer},
    {"kv-offloading-backend", false, "native", kNoTransfer},
    {"offload-backend", false, "auto", kNoTransfer},
    {"cpu-offload-gb", false, "0", kNoTransfer},
    {"cpu-offload-params", false, "", kNoTransfer},
    {"offload-group-size", false, "0", kNoTransfer},
    {"offload-num-in-group", false, "1", kNoTransfer},
    {"offload-prefetch-step", false, "1", kNoTransfer},
    {"offload-params", false, "", kNoTransfer},
    {"language-model-only", true, "*", kTextOnly},
    {"limit-mm-per-prompt", false, "", kTextOnly},
    {"enable-mm-embeds", true, "false", kTextOnly},
    {"media-io-kwargs", false, "", kTextOnly},
    {"mm-processor-kwargs", false, "", kTextOnly},
    {"mm-processor-cache-gb", false, "4", kTextOnly},
    {"mm-processor-cache-type", false, "lru", kTextOnly},
    {"mm-hasher-algorithm", false, "blake3", kTextOnly},
    {"mm-shm-cache-max-object-size-mb", false, "128", kTextOnly},
    {"mm-encoder-only", true, "false", kTextOnly},
    {"mm-encoder-tp-mode", false, "weights", kTextOnly},
    {"mm-encoder-attn-backend", false, "", kTextOnly},
    {"mm-encoder-attn-dtype", false, "", kTextOnly},
    {"mm-encoder-fp8-scale-path", false, "", kTextOnly},
    {"mm-encoder-fp8-scale-save-path", false, "", kTextOnly},
    {"mm-encoder-fp8-scale-save-margin", false, "1.5", kTextOnly},
    {"interleave-mm-strings", true, "false", kTextOnly},
    {"skip-mm-profiling", true, "*", kTextOnly},
    {"video-pruning-rate", false, "", kTextOnly},
    {"video-pruning-method", false, "evs", kTextOnly},
    {"mm-tensor-ipc", false, "direct_rpc", kTextOnly},
    {"mm-processor-device", false, "auto", kTextOnly},
    {"mm-ipc-gpu-memory-gb", false, "0", kTextOnly},
    {"mm-device-do-normalize", true, "false", kTextOnly},
    {"enable-lora", true, "false", kNoLora},
    {"max-loras", false, "1", kNoLora},
    {"max-lora-rank", false, "16", kNoLora},
    {"lora-dtype", false, "auto", kNoLora},
    {"enable-tower-connector-lora", true, "false", kNoLora},
    {"max-cpu-loras", false, "", kNoLora},
    {"fully-sharded-loras", true, "false", kNoLora},
    {"lora-target-modules", false, "", kNoLora},
    {"default-mm-loras", false, "", kNoLora},
    {"specialize-active-lora", true, "false", kNoLora},
    {"enable-mixed-moe-lora-format", true, "false", kNoLora},
    {"enable-moe-shared-loras", true, "false", kNoLora},
    {"max-lora-cls-labels", false, "", kNoLora},
    {"logging-config", false, "", kNoPython},
    {"log-config-file", false, "", kNoPython},
    {"show-hidden-metrics-for-version", false, "", kNoTelemetry},
    {"otlp-traces-endpoint", false, "", kNoTelemetry},
    {"collect-detailed-traces", false, "", kNoTelemetry},
    {"per-request-spec-decode-metrics", false, "none", kNoDrafts},
    {"kv-cache-metrics", true, "false", kNoTelemetry},
    {"kv-cache-metrics-sample", false, "0.01", kNoTelemetry},
    {"custom-histogram-buckets", false, "", kFixedBuckets},
    {"cudagraph-metrics", true, "false", kNoGpu},
    {"enable-layerwise-nvtx-tracing", true, "false", kNoGpu},
    {"enable-mfu-metrics", true, "*", ""},
    {"enable-logging-iteration-details", true, "false", kNoLogging},
    {"jit-monitor-mode", false, "warn", kNoGpu},
    {"jit-monitor-verbose", true, "false", kNoGpu},
    {"max-num-scheduled-tokens", false, "", kAlwaysSo},
    {"max-num-active-seqs", false, "", kAlwaysSo},
    {"long-prefill-token-threshold-adaptive", true, "false", kAlwaysSo},
    {"disable-chunked-mm-input", true, "*", kTextOnly},
    {"scheduler-cls", false, "", kNoPython},
    {"scheduler-reserve-full-isl", true, "true", kAlwaysSo},
    {"watermark", false, "0.0|0", kAlwaysSo},
    {"prefill-schedule-interval", false, "1", kAlwaysSo},
    {"disable-hybrid-kv-cache-manager", true, "false", kAlwaysSo},
    {"async-scheduling", true, "false", kAlwaysSo},
    {"cudagraph-capture-sizes", false, "", kNoGpu},
    {"max-cudagraph-capture-size", false, "", kNoGpu},
    {"ir-op-priority", false, "", kNoGpu},
    {"enable-flashinfer-autotune", true, "false", kNoGpu},
    {"moe-backend", false, "auto", kNoGpu},
    {"linear-backend", false, "auto", kNoGpu},
    {"sparse-indexer-topk-backend", false, "auto", kNoGpu},
    {"speculative-config,sc", false, "", kNoDrafts},
    {"spec-method", false, "", kNoDrafts},
    {"spec-model", false, "", kNoDrafts},
    {"spec-tokens", false, "", kNoDrafts},
    {"watermark-config", false, "", kAlwaysSo},
    {"diffusion-config,dc", false, "", kGenerateOnly},
    {"kv-transfer-config", false, "", kNoTransfer},
    {"kv-events-config", false, "", kNoTransfer},
    {"ec-transfer-config", false, "", kTextOnly},
    {"ec-manager-config", false, "", kTextOnly},
    {"compilation-config,cc", false, "", kNoGpu},
    {"attention-config,ac", false, "", kNoGpu},
    {"engram-config", false, "", kGenerateOnly},
    {"reasoning-config", false, "", kAlwaysSo},
    {"kernel-config", false, "", kNoGpu},
    {"additional-config", false, "", kNoPython},
    {"aux-output-config", false, "", kAlwaysSo},
    {"profiler-config", false, "", kNoGpu},
    {"optimization-level", false, "", kNoGpu},
    {"performance-mode", false, "balanced", kNoGpu},
    {"weight-transfer-config", false, "", kNoTransfer},
}};

Status Check(const VllmFlag& flag, std::string_view value) {
  if (flag.accepted == "*") return {};
  for (const std::string_view accepted : Split(flag.accepted, '|')) {
    if (!accepted.empty() && value == accepted) return {};
  }
  const std::string_view name = flag.names.substr(0, flag.names.find(','));
  return InvalidArgument(StrCat("--", name, " ", flag.is_switch ? "" : Printable(value),
                                flag.is_switch ? "" : " ", "is refused: ", flag.reason));
}

}  // namespace

void AddVllmFlags(FlagSet& flags) {
  for (const VllmFlag& entry : kVllmFlags) {
    Flag flag;
    flag.is_hidden = true;
    flag.value_name = entry.is_switch ? "" : "VALUE";
    flag.takes_members = entry.names.find("-config") != std::string_view::npos;
    flag.set = [&entry](std::string_view value) { return Check(entry, value); };
    flags.AddFlag(entry.names, std::move(flag));
  }
}

}  // namespace quire
