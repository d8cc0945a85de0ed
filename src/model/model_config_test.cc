#include "model/model_config.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "formats/testing.h"
#include "model/checkpoint.h"
#include "model/testing.h"

namespace quire {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kBase = R"({
  "architectures": ["LlamaForCausalLM"], "vocab_size": 256, "hidden_size": 64,
  "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4,
  "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
  "rope_theta": 10000.0, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2})";

Json Parse(std::string_view text) { return ParseJson(text).value(); }

// kBase with the members of `over`.
Result<ModelConfig> Read(std::string_view over = "{}", std::string_view base = kBase) {
  return ModelConfigFromHf(Parse(base), Parse(over));
}

ModelConfig MustRead(std::string_view over) {
  Result<ModelConfig> config = Read(over);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? *std::move(config) : ModelConfig();
}

std::string ErrorOf(std::string_view over) {
  const Result<ModelConfig> config = Read(over);
  return config.ok() ? "accepted" : config.status().message();
}

Code CodeOf(std::string_view over) { return Read(over).status().code(); }

std::string Architecture(std::string_view name) {
  return StrCat(R"("architectures": [")", name, R"("])");
}

TEST(ModelConfig, ReadsTheFieldsThatAllFamiliesShare) {
  const ModelConfig config = MustRead("{}");
  EXPECT_EQ(config.family, "llama");
  EXPECT_EQ(config.num_layers, 3);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.num_kv_heads, 2);
  EXPECT_EQ(config.max_positions, 128);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.bos_token_id, 1);
  EXPECT_THAT(config.eos_token_ids, ElementsAre(2));
  EXPECT_FALSE(config.tie_embeddings || config.qkv_bias || config.output_bias || config.mlp_bias ||
               config.qk_norm);
  EXPECT_THAT(config.layer_windows, Each(0));
  EXPECT_EQ(config.rope.style, ops::RopeStyle::kHalf);
}

TEST(ModelConfig, FindsTheFamilyByModelTypeWhereNoArchitectureIsNamed) {
  EXPECT_EQ(MustRead(R"({"architectures": null, "model_type": "qwen3"})").family, "qwen3");
  EXPECT_THAT(ErrorOf(R"({"architectures": null})"), HasSubstr("neither architectures nor"));
}

TEST(ModelConfig, RefusesAnUnknownArchitectureAndNamesTheNearest) {
  EXPECT_THAT(ErrorOf(R"({"architectures": ["LlamaForCausalLN"]})"),
              AllOf(HasSubstr("LlamaForCausalLN is not supported"), HasSubstr("LlamaForCausalLM")));
  EXPECT_EQ(CodeOf(R"({"architectures": ["Zamba2ForCausalLM"]})"), Code::kUnimplemented);
  EXPECT_EQ(CodeOf(R"({"architectures": [3]})"), Code::kInvalidArgument);
}

TEST(ModelConfig, NamesTheFieldThatIsMissingOrSenseless) {
  EXPECT_THAT(ErrorOf(R"({"hidden_size": null})"), HasSubstr("hidden_size"));
  EXPECT_THAT(ErrorOf(R"({"hidden_size": "64"})"), HasSubstr("hidden_size: must be an integer"));
  EXPECT_THAT(ErrorOf(R"({"num_hidden_layers": 4294967296})"),
              HasSubstr("num_hidden_layers: must be from 1 to 10000, got 4294967296"));
  EXPECT_THAT(ErrorOf(R"({"num_hidden_layers": 0})"), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(ErrorOf(R"({"vocab_size": 9223372036854775807})"), HasSubstr("vocab_size"));
  EXPECT_THAT(ErrorOf(R"({"num_key_value_heads": 3})"), HasSubstr("must divide"));
  EXPECT_THAT(ErrorOf(R"({"num_attention_heads": 6})"), HasSubstr("num_attention_heads"));
  EXPECT_THAT(ErrorOf(R"({"rms_norm_eps": -1.0})"), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(ErrorOf(R"({"rope_theta": 0})"), HasSubstr("rope_theta"));
  EXPECT_THAT(ErrorOf(R"({"head_dim": 8192, "num_attention_heads": 16384})"),
              HasSubstr("head_dim"));
  EXPECT_THAT(ErrorOf(R"({"eos_token_id": "2"})"), HasSubstr("eos_token_id"));
  EXPECT_THAT(ErrorOf(R"({"eos_token_id": [1, 99999999999]})"), HasSubstr("eos_token_id"));
  EXPECT_THAT(ErrorOf(R"({"max_position_embeddings": 2147483648})"),
              HasSubstr("max_position_embeddings"));
  EXPECT_THAT(ErrorOf(R"({"tie_word_embeddings": 1})"), HasSubstr("tie_word_embeddings"));
}

TEST(ModelConfig, RefusesWhatItCannotCompute) {
  EXPECT_EQ(CodeOf(R"({"hidden_act": "mish"})"), Code::kUnimplemented);
  EXPECT_EQ(CodeOf(R"({"rope_scaling": {"rope_type": "spiral", "factor": 2}})"),
            Code::kUnimplemented);
  EXPECT_THAT(ErrorOf(R"({"quantization_config": {"quant_method": "awq"}})"),
              HasSubstr("method awq is not supported"));
  EXPECT_EQ(CodeOf(R"({"quantization_config": {}})"), Code::kUnimplemented);
  EXPECT_EQ(CodeOf(R"({"rope_parameters": {"full_attention": {"rope_type": "default"}}})"),
            Code::kUnimplemented);
}

TEST(ModelConfig, TakesSeveralEndTokensAndLeavesOutNegativeOnes) {
  EXPECT_THAT(MustRead(R"({"eos_token_id": [5, 6]})").eos_token_ids, ElementsAre(5, 6));
  EXPECT_THAT(MustRead(R"({"eos_token_id": -1})").eos_token_ids, IsEmpty());
  EXPECT_THAT(MustRead(R"({"eos_token_id": null})").eos_token_ids, IsEmpty());
}

TEST(ModelConfig, CountsKeyHeadsAsThePublishedCodeDoes) {
  const std::string silent = StrCat(R"({"architectures": ["MistralForCausalLM"],
      "vocab_size": 8, "hidden_size": 64, "intermediate_size": 8, "num_hidden_layers": 1,
      "num_attention_heads": 16)");
  EXPECT_EQ(Read("{}", silent + "}")->num_kv_heads, 8);
  EXPECT_EQ(Read(R"({"num_key_value_heads": null})", silent + "}")->num_kv_heads, 16);
}

TEST(ModelConfig, ReadsRopeScalingInEverySpelling) {
  for (const std::string over : {
           R"({"rope_scaling": {"type": "linear", "factor": 4}})",
           R"({"rope_scaling": {"rope_type": "linear", "factor": 4.0}})",
           R"({"rope_theta": 1, "rope_parameters":
               {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}})",
       }) {
    const ModelConfig config = MustRead(over);
    EXPECT_EQ(config.rope.scaling, RopeScaling::kLinear) << over;
    EXPECT_EQ(config.rope.factor, 4.0) << over;
    EXPECT_EQ(config.rope.theta, 10000.0) << over;
    EXPECT_EQ(config.max_positions, 512) << over;
  }
  for (const std::string over : {R"({"rope_scaling": null})", R"({"rope_scaling": {}})",
                                 R"({"rope_scaling": {"rope_type": "default"}})",
                                 R"({"rope_scaling": {"rope_type": null, "type": null}})"}) {
    EXPECT_EQ(MustRead(over).rope.scaling, RopeScaling::kNone) << over;
  }
}

TEST(ModelConfig, ReadsEveryFieldOfLlama3AndYarn) {
  const ModelConfig llama3 = MustRead(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 2.0, "high_freq_factor": 3.0, "original_max_position_embeddings": 32}})");
  EXPECT_EQ(llama3.rope.original_max_positions, 32);
  EXPECT_EQ(llama3.rope.low_freq_factor, 2.0);
  EXPECT_EQ(llama3.rope.high_freq_factor, 3.0);
  EXPECT_EQ(llama3.max_positions, 128);  // declared with scaling
  const ModelConfig yarn = MustRead(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0,
      "original_max_position_embeddings": 64, "beta_fast": 16, "beta_slow": 2, "mscale": 0.7,
      "mscale_all_dim": 0.5, "attention_factor": 1.25, "truncate": false}})");
  EXPECT_EQ(yarn.rope.beta_fast, 16.0);
  EXPECT_EQ(yarn.rope.beta_slow, 2.0);
  EXPECT_EQ(yarn.rope.mscale, 0.7);
  EXPECT_EQ(yarn.rope.mscale_all_dim, 0.5);
  EXPECT_EQ(yarn.rope.attention_factor, 1.25);
  EXPECT_FALSE(yarn.rope.truncate);
  EXPECT_EQ(yarn.max_positions, 256);
}

TEST(ModelConfig, RefusesSenselessRopeScaling) {
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": {"rope_type": "linear"}})"), HasSubstr("factor"));
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": {"factor": 4}})"),
              HasSubstr("rope scaling: rope_type: must say what the factor is for"));
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": {"rope_type": ""}})"), HasSubstr("rope type"));
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": {"rope_type": "yarn",
      "original_max_position_embeddings": 32}})"),
              HasSubstr("rope scaling: factor: must be there"));
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": {"rope_type": "linear", "factor": -1}})"),
              HasSubstr("factor"));
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8,
      "low_freq_factor": 4, "high_freq_factor": 4}})"),
              HasSubstr("high_freq_factor"));
  EXPECT_THAT(ErrorOf(R"({"rope_scaling": 4})"), HasSubstr("rope_scaling: must be an object"));
  EXPECT_THAT(ErrorOf(R"({"partial_rotary_factor": 0.01})"), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(ErrorOf(R"({"partial_rotary_factor": 1.5})"), HasSubstr("partial_rotary_factor"));
}

TEST(ModelConfig, TurnsAShareOfEachHead) {
  EXPECT_EQ(RotaryDim(MustRead(R"({"partial_rotary_factor": 0.25})")), 4);
  EXPECT_EQ(RotaryDim(MustRead(R"({"head_dim": 24, "partial_rotary_factor": 0.3333333333333333})")),
            8);
}

TEST(ModelConfig, MergesOverridesMemberByMember) {
  const Json config = Parse(R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 8,
      "hidden_size": 64, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 4,
      "rope_scaling": {"rope_type": "linear", "factor": 4.0}})");
  const auto read = [&](std::string_view over) {
    return ModelConfigFromHf(config, Parse(over)).value();
  };
  EXPECT_EQ(read(R"({"rope_scaling": {"factor": 2.0}})").rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(read(R"({"rope_scaling": {"factor": 2.0}})").rope.factor, 2.0);
  EXPECT_EQ(read(R"({"rope_scaling": null})").rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(read("null").rope.factor, 4.0);
  const Result<ModelConfig> bad = ModelConfigFromHf(config, Parse("[]"));
  EXPECT_THAT(bad.status().message(), HasSubstr("hf_overrides: must be an object"));
}

TEST(ModelConfig, PutsOldRopeOverridesOverNewRopeParameters) {
  const Json config = Parse(R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 8,
      "hidden_size": 64, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 4,
      "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5.0}})");
  const auto read = [&](std::string_view over) {
    return ModelConfigFromHf(config, Parse(over)).value().rope;
  };
  EXPECT_EQ(read(R"({"rope_theta": 7.0})").theta, 7.0);
  EXPECT_EQ(read(R"({"rope_scaling": {"factor": 2.0}})").factor, 2.0);
  EXPECT_EQ(read(R"({"rope_scaling": null})").scaling, RopeScaling::kNone);
  EXPECT_EQ(read(R"({"rope_scaling": null})").theta, 5.0);
}

TEST(ModelConfig, GivesLlamaBiasesWhereTheConfigSaysSo) {
  const ModelConfig config = MustRead(R"({"attention_bias": true, "mlp_bias": true})");
  EXPECT_TRUE(config.qkv_bias && config.output_bias && config.mlp_bias);
}

TEST(ModelConfig, GivesMistralItsWindowOnEveryLayer) {
  const std::string mistral = Architecture("MistralForCausalLM");
  EXPECT_THAT(MustRead(StrCat("{", mistral, R"(, "sliding_window": 24})")).layer_windows,
              ElementsAre(24, 24, 24));
  EXPECT_THAT(MustRead(StrCat("{", mistral, R"(, "sliding_window": null})")).layer_windows,
              Each(0));
  EXPECT_THAT(MustRead(StrCat("{", mistral, "}")).layer_windows, Each(4096));
  EXPECT_THAT(ErrorOf(StrCat("{", mistral, R"(, "sliding_window": 0})")),
              HasSubstr("sliding_window"));
}

TEST(ModelConfig, GivesQwen2ItsBiasesAndTheWindowOfItsUpperLayers) {
  const std::string qwen2 = Architecture("Qwen2ForCausalLM");
  const ModelConfig off =
      MustRead(StrCat("{", qwen2, R"(, "use_sliding_window": false, "sliding_window": 16})"));
  EXPECT_TRUE(off.qkv_bias);
  EXPECT_FALSE(off.output_bias);
  EXPECT_THAT(off.layer_windows, Each(0));
  const std::string_view on =
      R"(, "use_sliding_window": true, "sliding_window": 16, "max_window_layers": 2)";
  EXPECT_THAT(MustRead(StrCat("{", qwen2, on, "}")).layer_windows, ElementsAre(0, 0, 16));
  const std::string_view types =
      R"(, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]})";
  EXPECT_THAT(MustRead(StrCat("{", qwen2, on, types)).layer_windows, ElementsAre(16, 0, 16));
}

TEST(ModelConfig, ChecksTheListOfLayerTypes) {
  EXPECT_THAT(ErrorOf(R"({"layer_types": ["full_attention"]})"), HasSubstr("layer_types"));
  EXPECT_EQ(CodeOf(R"({"layer_types": ["full_attention", "mamba", "full_attention"]})"),
            Code::kUnimplemented);
  EXPECT_THAT(
      ErrorOf(R"({"layer_types": ["full_attention", "sliding_attention", "full_attention"]})"),
      HasSubstr("no sliding_window"));
}

TEST(ModelConfig, GivesQwen3NormsOverHeadsAndItsOwnHeadSize) {
  const std::string qwen3 = Architecture("Qwen3ForCausalLM");
  const ModelConfig config = MustRead(StrCat("{", qwen3, "}"));
  EXPECT_TRUE(config.qk_norm);
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.head_dim, 128);
}

TEST(ModelConfig, GivesSmollm3LayersWithoutRotaryPositions) {
  const std::string smollm3 = Architecture("SmolLM3ForCausalLM");
  const ModelConfig silent = MustRead(StrCat("{", smollm3, R"(, "num_hidden_layers": 5})"));
  EXPECT_THAT(silent.layer_ropes, ElementsAre(true, true, true, false, true));
  EXPECT_TRUE(silent.tie_embeddings);
  EXPECT_FALSE(HasRope(silent, 3));
  EXPECT_THAT(MustRead(StrCat("{", smollm3, R"(, "no_rope_layers": [0, 1, 0]})")).layer_ropes,
              ElementsAre(false, true, false));
  EXPECT_THAT(ErrorOf(StrCat("{", smollm3, R"(, "no_rope_layers": [0, 1]})")),
              HasSubstr("no_rope_layers"));
  // Its windows are those of the layers that do not turn.
  EXPECT_THAT(MustRead(StrCat("{", smollm3, R"(, "no_rope_layers": [0, 1, 0],
                  "use_sliding_window": true, "sliding_window": 8})"))
                  .layer_windows,
              ElementsAre(8, 0, 8));
}

TEST(ModelConfig, GivesGraniteItsFactors) {
  const ModelConfig config =
      MustRead(StrCat("{", Architecture("GraniteForCausalLM"),
                      R"(, "embedding_multiplier": 6.0, "residual_multiplier": 0.4,
                 "attention_multiplier": 0.125, "logits_scaling": 2.0})"));
  EXPECT_EQ(config.embedding_multiplier, 6.0);
  EXPECT_EQ(config.residual_multiplier, 0.4);
  EXPECT_EQ(config.attention_scale, 0.125);
  EXPECT_EQ(config.logits_divisor, 2.0);
  EXPECT_THAT(ErrorOf(StrCat("{", Architecture("GraniteForCausalLM"), R"(, "logits_scaling": 0})")),
              HasSubstr("logits_scaling"));
}

TEST(ModelConfig, RefusesLongropeOfPhi3) {
  const std::string phi3 = Architecture("Phi3ForCausalLM");
  EXPECT_TRUE(MustRead(StrCat("{", phi3, "}")).fused_projections);
  EXPECT_EQ(CodeOf(StrCat("{", phi3, R"(, "rope_scaling": {"type": "longrope"}})")),
            Code::kUnimplemented);
}

// The metadata of a small llama, with `more` entries to come.
GgufWriter LlamaGguf(int num_tensors, int more = 0, std::string_view arch = "llama") {
  GgufWriter writer;
  writer.Preamble(static_cast<std::uint64_t>(num_tensors), static_cast<std::uint64_t>(more) + 8);
  writer.StringEntry("general.architecture", arch);
  const auto entry = [&](std::string_view key, std::uint32_t value) {
    writer.Entry(StrCat(arch, ".", key), 4, value);
  };
  entry("embedding_length", 32);
  entry("feed_forward_length", 64);
  entry("block_count", 2);
  entry("attention.head_count", 4);
  entry("attention.head_count_kv", 2);
  entry("context_length", 64);
  writer.Entry(StrCat(arch, ".attention.layer_norm_rms_epsilon"), 6, 1e-5F);
  return writer;
}

Result<ModelConfig> ReadGguf(const GgufWriter& writer, std::string_view over = "null") {
  TempFolder folder;
  const auto checkpoint = Checkpoint::Open(folder.Write("m.gguf", writer.text()), {});
  if (!checkpoint.ok()) return checkpoint.status();
  return ReadModelConfig(**checkpoint, Parse(over));
}

TEST(ModelConfigFromGguf, ReadsMetadataAndTensors) {
  GgufWriter writer = LlamaGguf(3, 4);
  writer.Entry("llama.rope.freq_base", 6, 5000.0F);
  writer.Entry("tokenizer.ggml.eos_token_id", 4, std::uint32_t{7});
  writer.Entry("tokenizer.ggml.eot_token_id", 4, std::uint32_t{9});
  writer.StringEntry("general.name", "A name");
  writer.Tensor("token_embd.weight", {32, 10}, 0, 0);
  writer.Tensor("blk.0.attn_q.bias", {32}, 0, 1280);
  writer.Tensor("output.weight", {32, 10}, 0, 1408).Data(2688);
  const Result<ModelConfig> config = ReadGguf(writer);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->family, "llama");
  EXPECT_EQ(config->vocab_size, 10);
  EXPECT_EQ(config->head_dim, 8);
  EXPECT_EQ(config->rope.theta, 5000.0);
  EXPECT_NEAR(config->norm_eps, 1e-5, 1e-9);
  EXPECT_EQ(config->rope.style, ops::RopeStyle::kInterleaved);
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_FALSE(config->output_bias);
  EXPECT_FALSE(config->tie_embeddings);
  EXPECT_EQ(config->name, "A name");
  EXPECT_THAT(config->eos_token_ids, ElementsAre(7, 9));
  EXPECT_EQ(config->weight_dtype, DType::kF32);
}

TEST(ModelConfigFromGguf, TiesTheHeadWhereTheFileHasNone) {
  GgufWriter writer = LlamaGguf(1, 0, "qwen2");
  writer.Tensor("token_embd.weight", {32, 10}, 2, 0).Data(180);
  const Result<ModelConfig> config = ReadGguf(writer);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_TRUE(config->tie_embeddings);
  EXPECT_EQ(config->rope.style, ops::RopeStyle::kHalf);
  EXPECT_EQ(config->weight_dtype, DType::kQ4_0);
}

TEST(ModelConfigFromGguf, ReadsRopeScaling) {
  GgufWriter writer = LlamaGguf(1, 4);
  writer.StringEntry("llama.rope.scaling.type", "yarn");
  writer.Entry("llama.rope.scaling.factor", 6, 4.0F);
  writer.Entry("llama.rope.scaling.original_context_length", 4, std::uint32_t{32});
  writer.Entry("llama.rope.dimension_count", 4, std::uint32_t{4});
  writer.Tensor("token_embd.weight", {32, 10}, 0, 0).Data(1280);
  const Result<ModelConfig> config = ReadGguf(writer);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(config->rope.factor, 4.0);
  EXPECT_EQ(config->rope.original_max_positions, 32);
  EXPECT_EQ(RotaryDim(*config), 4);
}

TEST(ModelConfigFromGguf, TakesOverridesUnderConfigsNames) {
  GgufWriter writer = LlamaGguf(1);
  writer.Tensor("token_embd.weight", {32, 10}, 0, 0).Data(1280);
  EXPECT_EQ(ReadGguf(writer, R"({"rope_theta": 77.0})")->rope.theta, 77.0);
}

TEST(ModelConfigFromGguf, TakesOneSizeForAllLayersFromAnArray) {
  for (const bool is_even : {true, false}) {
    GgufWriter writer;
    writer.Preamble(1, 7).StringEntry("general.architecture", "llama");
    writer.Entry("llama.attention.layer_norm_rms_epsilon", 6, 1e-5F);
    writer.Entry("llama.embedding_length", 4, std::uint32_t{32});
    writer.ArrayEntry("llama.feed_forward_length", 4, 2);
    writer.Put(std::uint32_t{64}).Put(std::uint32_t{is_even ? 64U : 32U});
    writer.Entry("llama.block_count", 4, std::uint32_t{2});
    writer.Entry("llama.attention.head_count", 4, std::uint32_t{4});
    writer.Entry("llama.context_length", 4, std::uint32_t{64});
    writer.Tensor("token_embd.weight", {32, 10}, 0, 0).Data(1280);
    const Result<ModelConfig> config = ReadGguf(writer);
    EXPECT_EQ(config.status().code(), is_even ? Code::kOk : Code::kUnimplemented);
    if (config.ok()) {
      EXPECT_EQ(config->num_kv_heads, 4);
    }
  }
}

TEST(ModelConfigFromGguf, NamesWhatIsWrong) {
  GgufWriter unknown = LlamaGguf(0, 0, "lama");
  EXPECT_THAT(ReadGguf(unknown).status().message(),
              AllOf(HasSubstr("m.gguf"), HasSubstr("lama"), HasSubstr("nearest that is: llama")));
  GgufWriter experts = LlamaGguf(0, 1);
  experts.Entry("llama.expert_count", 4, std::uint32_t{8});
  EXPECT_EQ(ReadGguf(experts).status().code(), Code::kUnimplemented);
  GgufWriter no_vocab = LlamaGguf(0);
  EXPECT_THAT(ReadGguf(no_vocab).status().message(), HasSubstr("token_embd.weight"));
  GgufWriter wrong_type = LlamaGguf(0, 1);
  wrong_type.StringEntry("llama.attention.key_length", "eight");
  EXPECT_THAT(ReadGguf(wrong_type).status().message(), HasSubstr("llama.attention.key_length"));
  GgufWriter missing;
  missing.Preamble(0, 1).StringEntry("general.architecture", "llama");
  EXPECT_THAT(ReadGguf(missing).status().message(), HasSubstr("llama.embedding_length: is absent"));
  GgufWriter layers;
  layers.Preamble(0, 0);
  EXPECT_THAT(ReadGguf(layers).status().message(), HasSubstr("general.architecture"));
}

TEST(ModelConfigFromGguf, NeedsTheEpsilonOfItsNorms) {
  GgufWriter writer;
  writer.Preamble(1, 6).StringEntry("general.architecture", "llama");
  writer.Entry("llama.embedding_length", 4, std::uint32_t{32});
  writer.Entry("llama.feed_forward_length", 4, std::uint32_t{64});
  writer.Entry("llama.block_count", 4, std::uint32_t{2});
  writer.Entry("llama.attention.head_count", 4, std::uint32_t{4});
  writer.Entry("llama.context_length", 4, std::uint32_t{64});
  writer.Tensor("token_embd.weight", {32, 10}, 0, 0).Data(1280);
  EXPECT_THAT(ReadGguf(writer).status().message(),
              HasSubstr("llama.attention.layer_norm_rms_epsilon: is absent"));
}

TEST(ModelConfigFromGguf, BlamesTheSizeThatIsWrongAndNotWhatFollowsFromIt) {
  GgufWriter writer;
  writer.Preamble(1, 8).StringEntry("general.architecture", "llama");
  writer.Entry("llama.attention.layer_norm_rms_epsilon", 6, 1e-5F);
  writer.Entry("llama.embedding_length", 4, std::uint32_t{0});
  writer.Entry("llama.feed_forward_length", 4, std::uint32_t{64});
  writer.Entry("llama.block_count", 4, std::uint32_t{2});
  writer.Entry("llama.attention.head_count", 4, std::uint32_t{4});
  writer.Entry("llama.context_length", 4, std::uint32_t{64});
  writer.Entry("llama.rope.dimension_count", 4, std::uint32_t{8});
  writer.Tensor("token_embd.weight", {32, 10}, 0, 0).Data(1280);
  EXPECT_THAT(ReadGguf(writer).status().message(), HasSubstr("hidden_size: must be from 1"));
}

TEST(ModelConfigFromGguf, BoundsWhatAWindowAllocates) {
  GgufWriter writer;
  writer.Preamble(1, 8).StringEntry("general.architecture", "llama");
  writer.Entry("llama.attention.layer_norm_rms_epsilon", 6, 1e-5F);
  writer.Entry("llama.embedding_length", 4, std::uint32_t{32});
  writer.Entry("llama.feed_forward_length", 4, std::uint32_t{64});
  writer.Entry("llama.block_count", 10, std::uint64_t{1} << 62);
  writer.Entry("llama.attention.head_count", 4, std::uint32_t{4});
  writer.Entry("llama.context_length", 4, std::uint32_t{64});
  writer.Entry("llama.attention.sliding_window", 4, std::uint32_t{16});
  writer.Tensor("token_embd.weight", {32, 10}, 0, 0).Data(1280);
  EXPECT_THAT(ReadGguf(writer).status().message(), HasSubstr("num_hidden_layers"));
}

}  // namespace
}  // namespace quire
