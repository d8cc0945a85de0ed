#include "model/families/llama.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "model/config_reader.h"
#include "model/families/families.h"
#include "model/layers/activations.h"
#include "model/layers/attention.h"
#include "model/layers/gated_mlp.h"
#include "model/layers/rotary.h"
#include "model/memory.h"
#include "model/weight_map.h"
#include "ops/linear.h"

namespace quire {
namespace {

struct LlamaLayer {
  ConstTensorView attention_norm;  // [hidden]
  AttentionLayer attention;
  ConstTensorView mlp_norm;  // [hidden]
  GatedMlp mlp;
  int group_idx = 0;  // of the KV groups
};

class LlamaModel final : public Model {
 public:
  LlamaModel(std::shared_ptr<const Checkpoint> checkpoint, const ModelConfig& config);

  Status LoadWeights(ops::OpContext& ctx, const LoadOptions& options);

  const ModelConfig& config() const override { return config_; }
  KvCacheSpec kv_spec() const override { return kv_spec_; }
  ConstTensorView Forward(ops::OpContext& ctx, const ForwardInput& input) override;
  void Logits(ops::OpContext& ctx, ConstTensorView hidden, TensorView logits) override;
  Status Reserve(std::int64_t max_rows, std::int64_t max_model_len) override;
  std::size_t weight_bytes() const override { return weights_.weight_bytes; }

 private:
  void Declare(WeightMap& weights);
  Status TakeRopeFactors();
  ResidualBuffers Residual();
  ops::InputNorm NormOf(ConstTensorView weight);
  void RunAttention(ops::OpContext& ctx, const ForwardInput& input, const AttentionStep& step,
                    std::size_t layer_idx);
  void RunMlp(ops::OpContext& ctx, const LlamaLayer& layer);
  void KeepRows(std::span<const std::int32_t> wanted);
  void SpreadRows(std::span<const std::int32_t> wanted, std::int64_t rows);

  std::shared_ptr<const Checkpoint> checkpoint_;  // holds bytes that weights point into
  ModelConfig config_;
  KvCacheSpec kv_spec_;
  ConstTensorView embedding_;  // [vocab, hidden] in the checkpoint's type
  std::vector<LlamaLayer> layers_;
  ConstTensorView final_norm_;  // [hidden]
  ops::LinearWeight head_;      // [vocab, hidden]
  ConstTensorView rope_factors_;
  WeightMap::Loaded weights_;
  std::optional<Rotary> rotary_;
  DecoderActivations activations_;
  NarrowStep narrow_;  // of the last layer
};

LlamaModel::LlamaModel(std::shared_ptr<const Checkpoint> checkpoint, const ModelConfig& config)
    : checkpoint_(std::move(checkpoint)),
      config_(config),
      kv_spec_(KvSpecOf(config)),
      layers_(static_cast<std::size_t>(config.num_layers)),
      activations_(config) {
  for (std::size_t group = 0; group < kv_spec_.groups.size(); ++group) {
    for (const std::int32_t layer : kv_spec_.groups[group].layers) {
      layers_[static_cast<std::size_t>(layer)].group_idx = static_cast<int>(group);
    }
  }
}

void LlamaModel::Declare(WeightMap& weights) {
  weights.Table("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size, &embedding_);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    LlamaLayer& layer = layers_[i];
    const std::string prefix = StrCat("model.layers.", i, ".");
    weights.Vector(prefix + "input_layernorm.weight", config_.hidden_size, &layer.attention_norm);
    layer.attention.Declare(config_, static_cast<std::int64_t>(i), prefix + "self_attn.", weights);
    weights.Vector(prefix + "post_attention_layernorm.weight", config_.hidden_size,
                   &layer.mlp_norm);
    layer.mlp.Declare(config_, prefix + "mlp.", weights);
  }
  weights.Vector("model.norm.weight", config_.hidden_size, &final_norm_);
  const bool is_tied = config_.tie_embeddings;
  weights.Matrix(is_tied ? "model.embed_tokens.weight" : "lm_head.weight", config_.vocab_size,
                 config_.hidden_size, &head_);
  if (is_tied) weights.Ignore("lm_head.weight");
  if (checkpoint_->format() == CheckpointFormat::kGguf) {
    weights.OptionalVector("rope_freqs.weight", RotaryDim(config_) / 2, &rope_factors_);
  }
}

Status LlamaModel::LoadWeights(ops::OpContext& ctx, const LoadOptions& options) {
  WeightMap weights(*checkpoint_);
  Declare(weights);
  QUIRE_ASSIGN_OR_RETURN(
      weights_, weights.Load(ctx, {options.precision, &options.progress, &options.packed_cache}));
  QUIRE_RETURN_IF_ERROR(TakeRopeFactors());
  rotary_.emplace(config_.rope, RotaryDim(config_));
  return {};
}

Status LlamaModel::TakeRopeFactors() {
  if (rope_factors_.empty()) return {};
  const std::span<const float> factors(rope_factors_.f32(),
                                       static_cast<std::size_t>(rope_factors_.dim(0)));
  for (const float factor : factors) {
    if (!std::isfinite(factor) || factor <= 0.0F) {
      return DataLoss(StrCat(checkpoint_->path(),
                             ": tensor rope_freqs.weight: must hold numbers above 0, got ",
                             factor));
    }
  }
  config_.rope.factors.assign(factors.begin(), factors.end());
  return {};
}

Status LlamaModel::Reserve(std::int64_t max_rows, std::int64_t max_model_len) {
  QUIRE_RETURN_IF_ERROR(activations_.Reserve(max_rows));
  return rotary_->Reserve(max_model_len);
}

ResidualBuffers LlamaModel::Residual() {
  return {activations_.hidden(), activations_.normed(),
          static_cast<float>(config_.residual_multiplier)};
}

ops::InputNorm LlamaModel::NormOf(ConstTensorView weight) {
  return {weight, static_cast<float>(config_.norm_eps), activations_.normed()};
}

// Once the last layer's K and V are written, only the wanted rows' state matters.
void LlamaModel::RunAttention(ops::OpContext& ctx, const ForwardInput& input,
                              const AttentionStep& step, std::size_t layer_idx) {
  const LlamaLayer& layer = layers_[layer_idx];
  const ops::AttentionBatch& batch = input.groups[static_cast<std::size_t>(layer.group_idx)];
  const ops::KvPages& pages = input.pages[layer_idx];
  const ops::InputNorm norm = NormOf(layer.attention_norm);
  const bool is_last = layer_idx + 1 == layers_.size() && input.wanted_rows;
  if (!is_last || input.wanted_rows->size() == input.token_ids.size()) {
    return layer.attention.Forward(ctx, step, batch, pages, activations_.attention(), norm,
                                   Residual());
  }
  layer.attention.WriteKv(ctx, step, batch, pages, activations_.attention(), norm, Residual());
  KeepRows(*input.wanted_rows);
  if (input.wanted_rows->empty()) return;
  narrow_.Set(step, batch, *input.wanted_rows);
  layer.attention.Attend(ctx, narrow_.step(), narrow_.batch(), pages, activations_.attention(),
                         NormOf(layer.attention_norm), Residual());
}

void LlamaModel::RunMlp(ops::OpContext& ctx, const LlamaLayer& layer) {
  layer.mlp.Forward(ctx, activations_.mlp(), NormOf(layer.mlp_norm), Residual());
}

// Moves the wanted rows to the front, and goes on with them alone.
void LlamaModel::KeepRows(std::span<const std::int32_t> wanted) {
  const std::int64_t width = config_.hidden_size;
  float* rows = activations_.hidden().f32();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::copy_n(rows + wanted[i] * width, width, rows + static_cast<std::int64_t>(i) * width);
  }
  activations_.SetRows(static_cast<std::int64_t>(wanted.size()));
}

// The opposite, on the normed rows, for a step of `rows` rows.
void LlamaModel::SpreadRows(std::span<const std::int32_t> wanted, std::int64_t rows) {
  const std::int64_t width = config_.hidden_size;
  float* normed = activations_.normed().f32();
  for (std::size_t i = wanted.size(); i-- > 0;) {
    const float* from = normed + static_cast<std::int64_t>(i) * width;
    if (wanted[i] != static_cast<std::int32_t>(i))
      std::copy_n(from, width, normed + wanted[i] * width);
  }
  activations_.SetRows(rows);
}

ConstTensorView LlamaModel::Forward(ops::OpContext& ctx, const ForwardInput& input) {
  activations_.SetRows(static_cast<std::int64_t>(input.token_ids.size()));
  const AttentionStep step{input.positions, rotary_->Table(input.positions)};
  ops::Embed(ctx, embedding_, input.token_ids, activations_.hidden());
  if (config_.embedding_multiplier != 1.0) {
    ops::Scale(ctx, activations_.hidden(), static_cast<float>(config_.embedding_multiplier),
               activations_.hidden());
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    RunAttention(ctx, input, step, i);
    RunMlp(ctx, layers_[i]);
  }
  ops::RmsNorm(ctx, activations_.hidden(), final_norm_, static_cast<float>(config_.norm_eps),
               activations_.normed());
  if (input.wanted_rows) {
    SpreadRows(*input.wanted_rows, static_cast<std::int64_t>(input.token_ids.size()));
  }
  return activations_.normed();
}

void LlamaModel::Logits(ops::OpContext& ctx, ConstTensorView hidden, TensorView logits) {
  const ops::LinearJob jobs[] = {{&head_, logits}};
  ops::Linear(ctx, hidden, jobs);
  if (config_.logits_divisor != 1.0) {
    ops::Scale(ctx, logits, static_cast<float>(1.0 / config_.logits_divisor), logits);
  }
}

// Windows only where the config lists them layer by layer.
Status Read(const Json& config, ModelConfig& model) {
  QUIRE_RETURN_IF_ERROR(ReadLlamaBiases(config, model));
  QUIRE_ASSIGN_OR_RETURN(const std::int64_t window, ReadWindow(config, 0));
  return ReadLayerWindows(config, window, /*first_windowed=*/model.num_layers, model);
}

}  // namespace

Result<std::unique_ptr<Model>> LoadLlama(ops::OpContext& ctx,
                                         std::shared_ptr<const Checkpoint> checkpoint,
                                         const ModelConfig& config, const LoadOptions& options) {
  auto model = std::make_unique<LlamaModel>(std::move(checkpoint), config);
  QUIRE_RETURN_IF_ERROR(model->LoadWeights(ctx, options));
  return std::unique_ptr<Model>(std::move(model));
}

const Family kLlama = {
    .name = "llama",
    .architecture = "LlamaForCausalLM",
    .model_type = "llama",
    .gguf_architecture = "llama",
    .gguf_rope_style = ops::RopeStyle::kInterleaved,
    .defaults = {},
    .read = Read,
    .load = LoadLlama,
};

}  // namespace quire
