#include "golden/gguf_copy.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/strings.h"
#include "formats/gguf.h"
#include "formats/testing.h"
#include "model/families/family.h"
#include "model/layers/rotary.h"
#include "model/weight_map.h"
#include "platform/mapped_file.h"

namespace quire::golden {
namespace {

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> dims;  // innermost first
  std::uint32_t type;
  std::string bytes;
};

const Family& FamilyOf(const ModelConfig& config) {
  const auto families = Families();
  return **std::find_if(families.begin(), families.end(),
                        [&](const Family* family) { return family->name == config.family; });
}

std::uint32_t TypeNumber(DType type) {
  if (type == DType::kF32) return 0;
  return type == DType::kF16 ? 1 : 30;
}

std::string AsF32(ConstTensorView view) {
  std::string bytes;
  for (std::int64_t i = 0; i < view.shape().num_values(); ++i) {
    float value = 0.0F;
    if (view.dtype() == DType::kF32) value = view.f32()[i];
    if (view.dtype() == DType::kF16) value = ToFloat(view.values<F16>()[i]);
    if (view.dtype() == DType::kBF16) value = ToFloat(view.values<Bf16>()[i]);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

// Row 2i and 2i + 1 of each head are what were rows i and i + head_dim / 2.
std::string InterleaveRows(const std::string& bytes, std::int64_t num_rows, std::int64_t head_dim) {
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(num_rows);
  std::string out;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::int64_t head = row / head_dim, in_head = row % head_dim;
    const std::int64_t source = head * head_dim + in_head / 2 + (in_head % 2) * head_dim / 2;
    out.append(bytes, static_cast<std::size_t>(source) * row_bytes, row_bytes);
  }
  return out;
}

Result<GgufTensor> ConvertTensor(const Checkpoint& checkpoint, const TensorInfo& tensor,
                                 const ModelConfig& config) {
  QUIRE_ASSIGN_OR_RETURN(const ConstTensorView view, checkpoint.View(tensor));
  const bool is_vector = tensor.shape.size() == 1;
  GgufTensor out{GgufTensorName(tensor.name),
                 {tensor.shape.rbegin(), tensor.shape.rend()},
                 is_vector ? 0 : TypeNumber(tensor.type),
                 {}};
  out.bytes = is_vector ? AsF32(view)
                        : std::string(reinterpret_cast<const char*>(view.data()), tensor.num_bytes);
  const bool is_turned = tensor.name.find("q_proj") != std::string::npos ||
                         tensor.name.find("k_proj") != std::string::npos;
  if (is_turned && FamilyOf(config).gguf_rope_style == ops::RopeStyle::kInterleaved) {
    out.bytes = InterleaveRows(out.bytes, tensor.shape[0], config.head_dim);
  }
  return out;
}

// What the plain frequencies are divided by.
GgufTensor RopeFactors(const ModelConfig& config) {
  const std::vector<float> plain =
      InverseFrequencies({.theta = config.rope.theta}, RotaryDim(config));
  const std::vector<float> scaled = InverseFrequencies(config.rope, RotaryDim(config));
  GgufTensor out{"rope_freqs.weight", {plain.size()}, 0, {}};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const float factor = plain[i] / scaled[i];
    out.bytes.append(reinterpret_cast<const char*>(&factor), sizeof factor);
  }
  return out;
}

// Counts its entries, because the number of them stands before them.
class Metadata {
 public:
  explicit Metadata(std::string_view arch) : arch_(arch) {
    writer_.StringEntry("general.architecture", arch);
  }
  void Int(std::string_view key, std::int64_t value) {
    writer_.Entry(StrCat(arch_, ".", key), 4, static_cast<std::uint32_t>(value));
    ++count_;
  }
  void Number(std::string_view key, double value) {
    writer_.Entry(StrCat(arch_, ".", key), 6, static_cast<float>(value));
    ++count_;
  }
  void Text(std::string_view key, std::string_view value) {
    writer_.StringEntry(StrCat(arch_, ".", key), value);
    ++count_;
  }
  void Split(int number, int count, std::size_t num_tensors) {
    writer_.Entry("split.no", 2, static_cast<std::uint16_t>(number));
    writer_.Entry("split.count", 2, static_cast<std::uint16_t>(count));
    writer_.Entry("split.tensors.count", 5, static_cast<std::int32_t>(num_tensors));
    count_ += 3;
  }
  std::uint64_t count() const { return count_; }
  const std::string& text() const { return writer_.text(); }

 private:
  std::string_view arch_;
  GgufWriter writer_;
  std::uint64_t count_ = 1;
};

void AddConfig(const ModelConfig& config, Metadata& metadata) {
  metadata.Int("embedding_length", config.hidden_size);
  metadata.Int("feed_forward_length", config.intermediate_size);
  metadata.Int("block_count", config.num_layers);
  metadata.Int("attention.head_count", config.num_heads);
  metadata.Int("attention.head_count_kv", config.num_kv_heads);
  metadata.Int("attention.key_length", config.head_dim);
  metadata.Int("attention.value_length", config.head_dim);
  metadata.Int("context_length", config.rope.original_max_positions);
  metadata.Int("rope.dimension_count", RotaryDim(config));
  metadata.Number("attention.layer_norm_rms_epsilon", config.norm_eps);
  metadata.Number("rope.freq_base", config.rope.theta);
  metadata.Number("embedding_scale", config.embedding_multiplier);
  metadata.Number("residual_scale", config.residual_multiplier);
  metadata.Number("logit_scale", config.logits_divisor);
  if (config.attention_scale) metadata.Number("attention.scale", *config.attention_scale);
  if (WindowOf(config, 0) != 0) metadata.Int("attention.sliding_window", WindowOf(config, 0));
  const bool is_yarn = config.rope.scaling == RopeScaling::kYarn;
  if (is_yarn || config.rope.scaling == RopeScaling::kLinear) {
    metadata.Text("rope.scaling.type", is_yarn ? "yarn" : "linear");
    metadata.Number("rope.scaling.factor", config.rope.factor);
    metadata.Int("rope.scaling.original_context_length", config.rope.original_max_positions);
  }
}

std::string FileOf(const Metadata& metadata, std::span<const GgufTensor> tensors) {
  constexpr std::size_t kAlignment = 32;
  const auto pad = [](std::string& text) {
    text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment);
  };
  GgufWriter list;
  std::string data;
  for (const GgufTensor& tensor : tensors) {
    pad(data);
    list.Tensor(tensor.name, tensor.dims, tensor.type, data.size());
    data += tensor.bytes;
  }
  GgufWriter start;
  start.Preamble(tensors.size(), metadata.count());
  std::string file = start.text() + metadata.text() + list.text();
  pad(file);
  return file + data;
}

Status Write(const std::string& path, const std::string& text) {
  return WriteFile(path, {reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

}  // namespace

Result<std::string> WriteGgufCopy(const Checkpoint& checkpoint, const ModelConfig& config,
                                  const std::string& folder, bool is_split) {
  std::vector<GgufTensor> tensors;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    QUIRE_ASSIGN_OR_RETURN(GgufTensor converted, ConvertTensor(checkpoint, tensor, config));
    tensors.push_back(std::move(converted));
  }
  if (config.rope.scaling == RopeScaling::kLlama3) tensors.push_back(RopeFactors(config));
  const std::string_view own = FamilyOf(config).gguf_architecture;
  const std::string_view arch = own.empty() ? "llama" : own;
  const std::size_t first_part = is_split ? tensors.size() / 2 : tensors.size();
  const std::span all(tensors);
  Metadata metadata(arch);
  AddConfig(config, metadata);
  if (!is_split) {
    const std::string path = folder + "/copy.gguf";
    QUIRE_RETURN_IF_ERROR(Write(path, FileOf(metadata, all)));
    return path;
  }
  metadata.Split(0, 2, tensors.size());
  Metadata second(arch);
  second.Split(1, 2, tensors.size());
  const GgufSplitName name{"copy", 1, 2};
  const std::string paths[] = {folder + "/" + GgufSplitFileName(name, 1),
                               folder + "/" + GgufSplitFileName(name, 2)};
  QUIRE_RETURN_IF_ERROR(Write(paths[0], FileOf(metadata, all.first(first_part))));
  QUIRE_RETURN_IF_ERROR(Write(paths[1], FileOf(second, all.subspan(first_part))));
  return paths[1];
}

}  // namespace quire::golden
