// The one list of the engine's options by name: flags, JSON, documents and the round-trip test are
// made from it.
#pragma once

#include <concepts>
#include <type_traits>

#include "config/engine_config.h"

namespace quire {

template <typename T, typename Struct>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Struct>;

// Each calls visit(name, field, help) for every field; the name is that of vLLM's flag.
template <FieldsOf<ModelOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("model", o.model, "Folder, GGUF file or name of the model; empty: the default model");
  visit("tokenizer", o.tokenizer, "Folder or file of the tokenizer; empty: the model's");
  visit("dtype", o.dtype,
        "Type that the model computes with; float32 implies compute-dtype float32");
  visit("compute-dtype", o.compute_dtype,
        "auto: matrix products may round activations, to int8 over quantized weights and to "
        "bfloat16 over such ones, where that is faster; float32: never");
  visit("max-model-len", o.max_model_len,
        "Most tokens of prompt and output together: a count such as 4096, 4k (4000) or 4K (4096), "
        "or auto for as many as the KV cache has room for; empty: the model's own");
  visit("hf-overrides", o.hf_overrides, "JSON object put over the model's config.json");
  visit("generation-config", o.generation_config,
        "Defaults of sampling: auto takes the model's generation_config.json, vllm takes none, "
        "anything else is a folder that has one");
  visit("override-generation-config", o.override_generation_config,
        "JSON object put over the generation config");
  visit("chat-template", o.chat_template,
        "File of the chat template, or the template itself; empty: the model's");
  visit("mmap", o.use_mmap, "Map weights into memory instead of reading them");
  visit("mlock", o.mlock, "Keep the weights in memory, never swapped out");
  visit("packed-cache", o.packed_cache,
        "Where weights are kept as the processor's kernels want them, so that loading need not "
        "repack: auto is QUIRE_CACHE/packed, off is nowhere, anything else is a folder");
  visit("packed-cache-bytes", o.packed_cache_bytes,
        "Most bytes in that folder, 16G for example; what was not used for longest goes first");
  visit("max-logprobs", o.max_logprobs, "Most logprobs a request may ask for; -1: no bound");
  visit("logprobs-mode", o.logprobs_mode,
        "What the logprobs of generated tokens are: raw ones are of the model's logits, processed "
        "ones of what the token was drawn from; those of prompts are raw_logprobs always");
  visit("seed", o.seed, "Seed of requests that bring none");
}

template <FieldsOf<CacheOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("block-size", o.block_size, "Tokens a block of the KV cache, a power of two");
  visit("num-gpu-blocks-override", o.num_gpu_blocks_override,
        "Blocks of the KV cache; unset: as many as fit");
  visit("kv-cache-memory-bytes", o.kv_cache_memory_bytes,
        "Bytes of the KV cache, 2G for example; unset: by gpu-memory-utilization");
  visit("gpu-memory-utilization", o.gpu_memory_utilization,
        "Share of the memory free after loading that the KV cache may take, (0, 1]; main memory "
        "where the model runs on the CPU");
  visit("prefault-kv-cache", o.prefault_kv_cache,
        "Take all of the KV cache's memory from the system at start, instead of block by block "
        "when a request first needs it");
  visit("kv-cache-dtype", o.kv_cache_dtype, "Type of keys and values in the cache");
  visit("enable-prefix-caching", o.enable_prefix_caching,
        "Reuse the KV cache of prompts that begin alike");
  visit("prefix-caching-hash-algo", o.prefix_caching_hash_algo,
        "Hash by which equal prefixes are found");
}

template <FieldsOf<SchedulerOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("max-num-batched-tokens", o.max_num_batched_tokens, "Most new tokens a step");
  visit("max-num-seqs", o.max_num_seqs, "Most requests that run at once");
  visit("long-prefill-token-threshold", o.long_prefill_token_threshold,
        "Most new tokens of one request a step; 0: no bound, or 4 % of the context where "
        "max-num-partial-prefills is more than 1");
  visit("max-num-partial-prefills", o.max_num_partial_prefills,
        "Most prompts in the middle of their prefill at once");
  visit("max-long-partial-prefills", o.max_long_partial_prefills,
        "Of those, most that are longer than long-prefill-token-threshold");
  visit("enable-chunked-prefill", o.enable_chunked_prefill, "Compute long prompts in parts");
  visit("scheduling-policy", o.policy,
        "Who goes first: fcfs by arrival, priority by the request's priority");
  visit("max-num-queued-reqs", o.max_waiting,
        "Most requests that wait before further ones are refused");
  visit("max-num-queued-tokens", o.max_waiting_tokens,
        "Most tokens of their prompts; one that is longer is taken when nothing waits; unset: any");
  visit("stream-interval", o.stream_interval,
        "Tokens of an answer between two pieces of its stream; the first goes out at once");
}

template <FieldsOf<ParallelOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("threads", o.threads, "Compute threads; 0: one a physical core");
  visit("pin", o.pin, "Keep each compute thread on its own core");
}

template <FieldsOf<StructuredOptions> Options, typename Visitor>
void VisitFields(Options& o, Visitor&& visit) {
  visit("structured-outputs-config", o.config,
        "JSON object: backend (auto or xgrammar), disable_any_whitespace, "
        "disable_additional_properties, reasoning_parser, enable_in_reasoning");
  visit("grammar-compile-timeout", o.grammar_compile_timeout,
        "Most seconds of processor time for the grammar of one request; then it is refused");
}

// Calls visit(group name, options) for each part of the configuration.
template <FieldsOf<EngineConfig> Config, typename Visitor>
void VisitGroups(Config& c, Visitor&& visit) {
  visit("Model", c.model);
  visit("KV cache", c.cache);
  visit("Scheduler", c.scheduler);
  visit("Threads", c.parallel);
  visit("Structured output", c.structured);
}

// Calls visit(name, field, help) for every field of every group.
template <FieldsOf<EngineConfig> Config, typename Visitor>
void VisitFields(Config& c, Visitor&& visit) {
  VisitGroups(c, [&](std::string_view, auto& options) { VisitFields(options, visit); });
}

}  // namespace quire
