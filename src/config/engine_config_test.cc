#include "config/engine_config.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace quire {
namespace {

template <typename Change>
std::string MessageAfter(Change change) {
  EngineConfig config;
  change(config);
  return config.Validate().message();
}

TEST(EngineConfig, TheDefaultsAreValid) { EXPECT_EQ(EngineConfig().Validate().message(), ""); }

TEST(EngineConfig, BlockSizeIsAPowerOfTwo) {
  const auto message = [](int size) {
    return MessageAfter([&](EngineConfig& config) { config.cache.block_size = size; });
  };
  for (const int size : {1, 2, 16, 128, 4096}) EXPECT_EQ(message(size), "") << size;
  EXPECT_EQ(message(24), "block-size: must be a power of two in [1, 4096], got 24");
  for (const int size : {0, -16, 8192, std::numeric_limits<int>::min()}) {
    EXPECT_NE(message(size), "") << size;
  }
}

TEST(EngineConfig, SharesOfMemoryLieBetweenZeroAndOne) {
  const auto message = [](double share) {
    return MessageAfter([&](EngineConfig& config) { config.cache.gpu_memory_utilization = share; });
  };
  EXPECT_EQ(message(1.0), "");
  EXPECT_EQ(message(0.01), "");
  EXPECT_EQ(message(1.5), "gpu-memory-utilization: must be in (0, 1], got 1.5");
  EXPECT_NE(message(0.0), "");
  EXPECT_NE(message(-0.5), "");
  EXPECT_NE(message(std::nan("")), "");
}

TEST(EngineConfig, SizesOfTheCacheArePositive) {
  EXPECT_EQ(MessageAfter([](EngineConfig& config) { config.cache.num_gpu_blocks_override = 0; }),
            "num-gpu-blocks-override: must be at least 1, got 0");
  EXPECT_EQ(MessageAfter([](EngineConfig& config) { config.cache.kv_cache_memory_bytes = -1; }),
            "kv-cache-memory-bytes: must be at least 1, got -1");
}

TEST(EngineConfig, MoreRequestsThanTokensAStepMayRunButNeitherMayBeNone) {
  const auto message = [](int seqs, int tokens) {
    return MessageAfter([&](EngineConfig& config) {
      config.scheduler.max_num_seqs = seqs;
      config.scheduler.max_num_batched_tokens = tokens;
    });
  };
  EXPECT_EQ(message(1, 1), "");
  EXPECT_EQ(message(256, 16), "");
  EXPECT_NE(message(0, 64), "");
  EXPECT_NE(message(1, 0), "");
}

TEST(EngineConfig, PartialPrefillsNeedChunkedPrefill) {
  const auto message = [](int partial, int long_partial, bool chunked) {
    return MessageAfter([&](EngineConfig& config) {
      config.scheduler.max_num_partial_prefills = partial;
      config.scheduler.max_long_partial_prefills = long_partial;
      config.scheduler.enable_chunked_prefill = chunked;
    });
  };
  EXPECT_EQ(message(4, 2, true), "");
  EXPECT_EQ(message(1, 1, false), "");
  EXPECT_NE(message(2, 1, false), "");
  EXPECT_NE(message(2, 3, true), "");
  EXPECT_NE(message(0, 1, true), "");
  EXPECT_NE(message(1, 0, true), "");
}

TEST(EngineConfig, WithoutChunkedPrefillAStepHoldsTheLongestPrompt) {
  const auto message = [](const char* length, bool chunked) {
    return MessageAfter([&](EngineConfig& config) {
      config.model.max_model_len = length;
      config.scheduler.enable_chunked_prefill = chunked;
    });
  };
  EXPECT_EQ(message("2048", false), "");
  EXPECT_EQ(message("auto", false), "");
  EXPECT_EQ(message("4k", true), "");
  EXPECT_EQ(message("4k", false),
            "max-num-batched-tokens: must be at least max-model-len, which is 4000, without "
            "enable-chunked-prefill, got 2048");
}

TEST(EngineConfig, TextOptionsAreReadAtOnce) {
  EXPECT_EQ(MessageAfter([](EngineConfig& config) { config.model.max_model_len = "4x"; }),
            "max-model-len: must be a count such as 4096, 4k, 4K or 1.5m, got '4x'");
  EXPECT_EQ(MessageAfter([](EngineConfig& config) { config.model.hf_overrides = Json(5); }),
            "hf-overrides: must be a JSON object, got an integer");
  EXPECT_EQ(MessageAfter([](EngineConfig& config) {
              config.model.override_generation_config = Json(JsonObject{{"top_p", Json(2.0)}});
            }),
            "override-generation-config: top_p: must be in (0, 1], got 2");
  EXPECT_NE(MessageAfter([](EngineConfig& config) { config.model.generation_config = ""; }), "");
}

TEST(EngineConfig, StructuredOutputIsObeyedOrRefusedWithAReason) {
  const auto message = [](const char* json) {
    return MessageAfter([&](EngineConfig& config) { config.structured.config = *ParseJson(json); });
  };
  EXPECT_EQ(message("{}"), "");
  EXPECT_EQ(message(R"({"backend":"auto","disable_fallback":true,"disable_any_whitespace":true,)"
                    R"("disable_additional_properties":true,"reasoning_parser":"qwen3",)"
                    R"("reasoning_parser_plugin":"","enable_in_reasoning":false})"),
            "");
  EXPECT_EQ(message(R"({"backend":"xgrammar"})"), "");
  EXPECT_EQ(message(R"({"backend":"outlines"})"),
            "structured-outputs-config: backend: outlines is not built in, and no other takes its "
            "place unasked; choose auto or xgrammar");
  EXPECT_NE(message(R"({"backend":"magic"})"), "");
  EXPECT_NE(message(R"({"disable_any_whitespace":1})"), "");
  EXPECT_NE(message(R"({"reasoning_parser_plugin":"x.py"})"), "");
  EXPECT_EQ(message(R"({"bckend":"auto"})"), "structured-outputs-config: has no member bckend");
  EXPECT_NE(message("[]"), "");
}

TEST(EngineConfig, TheGrammarCompileTimeoutIsATime) {
  const auto message = [](double seconds) {
    return MessageAfter(
        [&](EngineConfig& config) { config.structured.grammar_compile_timeout = seconds; });
  };
  EXPECT_EQ(message(0.5), "");
  EXPECT_NE(message(0.0), "");
  EXPECT_NE(message(-1.0), "");
  EXPECT_NE(message(std::nan("")), "");
}

TEST(EngineConfig, CountsHaveTheirLowestValues) {
  EXPECT_EQ(MessageAfter([](EngineConfig& config) { config.model.max_logprobs = -1; }), "");
  EXPECT_NE(MessageAfter([](EngineConfig& config) { config.model.max_logprobs = -2; }), "");
  EXPECT_EQ(MessageAfter([](EngineConfig& config) { config.parallel.threads = 4096; }), "");
  EXPECT_NE(MessageAfter([](EngineConfig& config) { config.parallel.threads = 4097; }), "");
  EXPECT_NE(MessageAfter([](EngineConfig& config) { config.parallel.threads = -1; }), "");
  EXPECT_NE(MessageAfter([](EngineConfig& config) { config.scheduler.max_waiting = 0; }), "");
  EXPECT_NE(MessageAfter([](EngineConfig& config) { config.scheduler.max_waiting_tokens = 0; }),
            "");
  EXPECT_NE(MessageAfter(
                [](EngineConfig& config) { config.scheduler.long_prefill_token_threshold = -1; }),
            "");
}

TEST(ModelOptions, DtypeFloat32ImpliesComputeDtypeFloat32) {
  ModelOptions options;
  EXPECT_EQ(options.effective_compute_dtype(), ComputeDtype::kAuto);
  options.dtype = ModelDtype::kFloat32;
  EXPECT_EQ(options.effective_compute_dtype(), ComputeDtype::kFloat32);
  options.dtype = ModelDtype::kBFloat16;
  options.compute_dtype = ComputeDtype::kFloat32;
  EXPECT_EQ(options.effective_compute_dtype(), ComputeDtype::kFloat32);
}

TEST(Enums, ReadEveryNameAndPrintTheFirst) {
  EXPECT_EQ(*ParseEnum<ModelDtype>("half"), ModelDtype::kFloat16);
  EXPECT_EQ(*ParseEnum<ModelDtype>("float"), ModelDtype::kFloat32);
  EXPECT_EQ(ToString(ModelDtype::kFloat16), "float16");
  EXPECT_EQ(ToString(ModelDtype::kFloat32), "float32");
  EXPECT_EQ(*ParseEnum<PrefixHashAlgo>("sha256_cbor"), PrefixHashAlgo::kSha256);
  EXPECT_EQ(ToString(SchedulingPolicy::kPriority), "priority");
  EXPECT_EQ(ToString(KvCacheDtype::kBFloat16), "bfloat16");
  EXPECT_EQ(*ParseEnum<KvCacheDtype>("int8"), KvCacheDtype::kInt8PerTokenHead);
  EXPECT_EQ(ToString(KvCacheDtype::kInt8PerTokenHead), "int8_per_token_head");
}

TEST(Enums, UnknownNamesBringTheKnownOnes) {
  EXPECT_EQ(ParseEnum<ModelDtype>("flaot16").status().message(),
            "must be one of auto, float16, half, bfloat16, float32, float, got 'flaot16'; did you "
            "mean float16?");
  EXPECT_EQ(ParseEnum<KvCacheDtype>("fp8_e5m2").status().message(),
            "'fp8_e5m2' is not supported, only auto, float32, float16, bfloat16, "
            "int8_per_token_head, int8");
  EXPECT_EQ(ParseEnum<KvCacheDtype>("fp8").status().code(), Code::kUnimplemented);
  EXPECT_EQ(ParseEnum<ModelDtype>("").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quire
