#include "config/engine_config.h"

#include <bit>
#include <cmath>

#include "base/strings.h"
#include "config/generation_config.h"
#include "config/token_count.h"

namespace quire {

namespace {

constexpr int kMaxBlockSize = 4096;
constexpr int kMaxThreads = 4096;

template <typename T>
Status Refuse(std::string_view name, std::string_view wanted, const T& got) {
  return InvalidArgument(StrCat(name, ": must be ", wanted, ", got ", got));
}

template <typename T>
Status CheckAtLeast(std::string_view name, T value, T low) {
  if (value >= low) return {};
  return Refuse(name, StrCat("at least ", low), value);
}

Status CheckObject(std::string_view name, const Json& value) {
  if (value.is_null() || value.is_object()) return {};
  return Refuse(name, "a JSON object", value.kind());
}

Status CheckModel(const ModelOptions& options) {
  if (const auto length = ParseMaxModelLen(options.max_model_len); !length.ok()) {
    return length.status().With("max-model-len");
  }
  QUIRE_RETURN_IF_ERROR(CheckObject("hf-overrides", options.hf_overrides));
  QUIRE_RETURN_IF_ERROR(
      CheckObject("override-generation-config", options.override_generation_config));
  if (options.generation_config.empty()) {
    return InvalidArgument("generation-config: must be auto, vllm or a folder, got ''");
  }
  if (options.packed_cache.empty()) {
    return InvalidArgument("packed-cache: must be auto, off or a folder, got ''");
  }
  QUIRE_RETURN_IF_ERROR(
      CheckAtLeast("packed-cache-bytes", options.packed_cache_bytes, std::int64_t{0}));
  QUIRE_RETURN_IF_ERROR(CheckAtLeast("max-logprobs", options.max_logprobs, -1));
  return CheckGenerationOverrides(options.override_generation_config)
      .With("override-generation-config");
}

Status CheckCache(const CacheOptions& options) {
  const auto size = static_cast<unsigned>(options.block_size);
  if (options.block_size < 1 || options.block_size > kMaxBlockSize || !std::has_single_bit(size)) {
    return Refuse("block-size", StrCat("a power of two in [1, ", kMaxBlockSize, "]"),
                  options.block_size);
  }
  constexpr std::int64_t kOne = 1;
  QUIRE_RETURN_IF_ERROR(CheckAtLeast("num-gpu-blocks-override",
                                     options.num_gpu_blocks_override.value_or(kOne), kOne));
  QUIRE_RETURN_IF_ERROR(
      CheckAtLeast("kv-cache-memory-bytes", options.kv_cache_memory_bytes.value_or(kOne), kOne));
  const double share = options.gpu_memory_utilization;
  if (share > 0.0 && share <= 1.0) return {};
  return Refuse("gpu-memory-utilization", "in (0, 1]", share);
}

Status CheckScheduler(const SchedulerOptions& options) {
  QUIRE_RETURN_IF_ERROR(CheckAtLeast("max-num-batched-tokens", options.max_num_batched_tokens, 1));
  QUIRE_RETURN_IF_ERROR(CheckAtLeast("max-num-seqs", options.max_num_seqs, 1));
  QUIRE_RETURN_IF_ERROR(
      CheckAtLeast("long-prefill-token-threshold", options.long_prefill_token_threshold, 0));
  QUIRE_RETURN_IF_ERROR(
      CheckAtLeast("max-num-partial-prefills", options.max_num_partial_prefills, 1));
  if (options.max_num_partial_prefills > 1 && !options.enable_chunked_prefill) {
    return Refuse("max-num-partial-prefills", "1 without enable-chunked-prefill",
                  options.max_num_partial_prefills);
  }
  QUIRE_RETURN_IF_ERROR(
      CheckAtLeast("max-long-partial-prefills", options.max_long_partial_prefills, 1));
  if (options.max_long_partial_prefills > options.max_num_partial_prefills) {
    return Refuse(
        "max-long-partial-prefills",
        StrCat("at most max-num-partial-prefills, which is ", options.max_num_partial_prefills),
        options.max_long_partial_prefills);
  }
  QUIRE_RETURN_IF_ERROR(CheckAtLeast("stream-interval", options.stream_interval, 1));
  QUIRE_RETURN_IF_ERROR(CheckAtLeast("max-num-queued-tokens",
                                     options.max_waiting_tokens.value_or(1), std::int64_t{1}));
  return CheckAtLeast("max-num-queued-reqs", options.max_waiting, 1);
}

Status CheckParallel(const ParallelOptions& options) {
  if (options.threads >= 0 && options.threads <= kMaxThreads) return {};
  return Refuse("threads", StrCat("in [0, ", kMaxThreads, "]"), options.threads);
}

// A prompt that may not be computed in parts must fit a step whole.
Status CheckWholePrompts(const EngineConfig& config) {
  if (config.scheduler.enable_chunked_prefill) return {};
  QUIRE_ASSIGN_OR_RETURN(const MaxModelLen length, ParseMaxModelLen(config.model.max_model_len));
  const std::int64_t* const tokens = std::get_if<std::int64_t>(&length);
  if (tokens == nullptr || *tokens <= config.scheduler.max_num_batched_tokens) return {};
  return Refuse(
      "max-num-batched-tokens",
      StrCat("at least max-model-len, which is ", *tokens, ", without enable-chunked-prefill"),
      config.scheduler.max_num_batched_tokens);
}

// Of `config` of the structured output.
Status CheckStructuredMember(std::string_view name, const Json& value) {
  const bool is_switch = name == "disable_fallback" || name == "disable_any_whitespace" ||
                         name == "disable_additional_properties" || name == "enable_in_reasoning";
  if (is_switch) {
    return value.is_bool() ? Status() : Refuse(name, "true or false", value.Dump());
  }
  const bool is_text =
      name == "backend" || name == "reasoning_parser" || name == "reasoning_parser_plugin";
  if (!is_text) return InvalidArgument(StrCat("has no member ", Printable(name)));
  if (!value.is_string()) return Refuse(name, "a string", value.kind());
  const std::string& text = value.string();
  if (name == "reasoning_parser_plugin" && !text.empty()) {
    return InvalidArgument(StrCat(name, ": it loads Python code; Quire runs none"));
  }
  if (name != "backend" || text == "auto" || text == "xgrammar") return {};
  for (const char* other : {"guidance", "outlines", "lm-format-enforcer"}) {
    if (text == other) {
      return InvalidArgument(StrCat("backend: ", other,
                                    " is not built in, and no other takes its place unasked; "
                                    "choose auto or xgrammar"));
    }
  }
  return Refuse(name, "auto or xgrammar", Printable(text));
}

}  // namespace

bool StructuredOptions::Is(std::string_view name) const {
  const Json* value = config.Find(name);
  return value != nullptr && value->is_bool() && value->boolean();
}

std::string StructuredOptions::reasoning_parser() const {
  const Json* value = config.Find("reasoning_parser");
  return value != nullptr && value->is_string() ? value->string() : std::string();
}

Status StructuredOptions::Validate() const {
  QUIRE_RETURN_IF_ERROR(CheckObject("structured-outputs-config", config));
  if (config.is_object()) {
    for (const auto& [name, value] : config.object()) {
      if (value.is_null()) continue;
      const Status status = CheckStructuredMember(name, value);
      if (!status.ok()) return status.With("structured-outputs-config");
    }
  }
  if (grammar_compile_timeout > 0 && std::isfinite(grammar_compile_timeout)) return {};
  return Refuse("grammar-compile-timeout", "more than 0", grammar_compile_timeout);
}

Status EngineConfig::Validate() const {
  QUIRE_RETURN_IF_ERROR(CheckModel(model));
  QUIRE_RETURN_IF_ERROR(CheckCache(cache));
  QUIRE_RETURN_IF_ERROR(CheckScheduler(scheduler));
  QUIRE_RETURN_IF_ERROR(CheckParallel(parallel));
  QUIRE_RETURN_IF_ERROR(structured.Validate());
  return CheckWholePrompts(*this);
}

}  // namespace quire
