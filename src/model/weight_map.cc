#include "model/weight_map.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

constexpr std::size_t kMaxListed = 10;
constexpr std::int64_t kVectorAlignment = 16;  // values: 64 bytes
constexpr std::size_t kPackedAlignment = 64;

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  return StrCat("[", Join(shape, ", "), "]");
}

// "3 tensors are missing: a, b, c"; nothing for none.
void AppendList(std::string_view what, const std::vector<std::string>& names,
                std::string& message) {
  if (names.empty()) return;
  if (!message.empty()) message += "; ";
  const std::size_t shown = std::min(names.size(), kMaxListed);
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(shown));
  message += StrCat(names.size(), names.size() == 1 ? " tensor is " : " tensors are ", what, ": ",
                    Join(first, ", "));
  if (names.size() > shown) message += StrCat(" and ", names.size() - shown, " more");
}

// Buffers that published checkpoints carry along though the config says all of it.
bool IsHarmless(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".rotary_emb.cos_cached") ||
         name.ends_with(".rotary_emb.sin_cached");
}

bool IsVectorType(DType type) {
  return type == DType::kF32 || ops::LinearWeight::IsSupported(type);
}

std::int64_t ValuesOf(const std::vector<std::int64_t>& shape) {
  std::int64_t values = 1;
  for (const std::int64_t dim : shape) values *= dim;
  return values;
}

std::int64_t PaddedValues(std::int64_t values) {
  return (values + kVectorAlignment - 1) / kVectorAlignment * kVectorAlignment;
}

// Rows [first, first + count) of a matrix; each is a whole number of blocks.
ConstTensorView RowsOf(ConstTensorView matrix, std::int64_t first, std::int64_t count) {
  const std::uint64_t row_bytes = *BytesOf(matrix.dtype(), matrix.dim(1));
  return {matrix.data() + static_cast<std::uint64_t>(first) * row_bytes,
          matrix.dtype(),
          {count, matrix.dim(1)}};
}

}  // namespace

void WeightMap::Add(Want want) {
  if (checkpoint_.format() == CheckpointFormat::kGguf) want.name = GgufTensorName(want.name);
  known_.insert(want.name);
  wants_.push_back(std::move(want));
}

void WeightMap::Matrix(std::string name, std::int64_t out, std::int64_t in,
                       ops::LinearWeight* place) {
  Want want{.kind = Want::Kind::kMatrix, .name = std::move(name), .shape = {out, in}};
  want.matrix = place;
  Add(std::move(want));
}

void WeightMap::Vector(std::string name, std::int64_t size, ConstTensorView* place) {
  Want want{.kind = Want::Kind::kVector, .name = std::move(name), .shape = {size}};
  want.view = place;
  Add(std::move(want));
}

void WeightMap::OptionalVector(std::string name, std::int64_t size, ConstTensorView* place) {
  Vector(std::move(name), size, place);
  wants_.back().is_optional = true;
}

void WeightMap::Table(std::string name, std::int64_t rows, std::int64_t cols,
                      ConstTensorView* place) {
  Want want{.kind = Want::Kind::kTable, .name = std::move(name), .shape = {rows, cols}};
  want.view = place;
  Add(std::move(want));
}

void WeightMap::Linear(const std::string& name, const ProjectionShape& shape, Projection* place) {
  Matrix(name + ".weight", shape.out, shape.in, &place->weight);
  if (shape.has_bias) Vector(name + ".bias", shape.out, &place->bias);
}

void WeightMap::FusedLinear(const std::string& name, std::int64_t in,
                            const std::vector<Part>& parts) {
  std::int64_t all_rows = 0;
  for (const Part& part : parts) all_rows += part.out;
  std::int64_t first_row = 0;
  for (const Part& part : parts) {
    Matrix(name + ".weight", all_rows, in, &part.place->weight);
    wants_.back().first_row = first_row;
    wants_.back().num_rows = part.out;
    first_row += part.out;
  }
}

void WeightMap::Ignore(std::string name) {
  const bool is_gguf = checkpoint_.format() == CheckpointFormat::kGguf;
  known_.insert(is_gguf ? GgufTensorName(name) : std::move(name));
}

Status WeightMap::Check() {
  std::vector<std::string> missing, surplus, misshaped;
  for (Want& want : wants_) {
    want.found = checkpoint_.Find(want.name);
    if (want.found == nullptr) {
      if (!want.is_optional) missing.push_back(want.name);
    } else if (want.found->shape != want.shape) {
      misshaped.push_back(StrCat(want.name, " is ", ShapeText(want.found->shape), ", must be ",
                                 ShapeText(want.shape)));
    } else if (want.kind == Want::Kind::kTable) {
      tables_.push_back(want.found);
    }
  }
  for (const TensorInfo& tensor : checkpoint_.tensors()) {
    if (known_.count(tensor.name) == 0 && !IsHarmless(tensor.name)) {
      surplus.push_back(Printable(tensor.name));
    }
  }
  std::string message;
  AppendList("missing", missing, message);
  AppendList("of another shape", misshaped, message);
  AppendList("not known to this architecture", surplus, message);
  return message.empty() ? Status() : DataLoss(StrCat(checkpoint_.path(), ": ", message));
}

Status WeightMap::CheckTypes() const {
  std::vector<std::string> refused;
  for (const Want& want : wants_) {
    if (want.found == nullptr || IsVectorType(want.found->type)) continue;
    refused.push_back(StrCat(want.name, " (", ToString(want.found->type), ")"));
  }
  std::string message;
  AppendList("of a type that is not supported", refused, message);
  return message.empty() ? Status() : Unimplemented(StrCat(checkpoint_.path(), ": ", message));
}

Result<ConstTensorView> WeightMap::SourceOf(const Want& want) const {
  QUIRE_ASSIGN_OR_RETURN(const ConstTensorView whole, checkpoint_.View(*want.found));
  return want.num_rows == 0 ? whole : RowsOf(whole, want.first_row, want.num_rows);
}

Result<PackedImage> WeightMap::PlanImage(const ops::OpContext& ctx,
                                         ops::MatmulPrecision precision) {
  PackedImage image;
  std::size_t total = 0;
  for (Want& want : wants_) {
    if (want.kind != Want::Kind::kMatrix || want.found == nullptr) continue;
    QUIRE_ASSIGN_OR_RETURN(const ConstTensorView source, SourceOf(want));
    const std::size_t num_bytes = ops::LinearWeight::PackedBytes(ctx, source, precision);
    if (num_bytes == 0) continue;
    want.packed_idx = image.matrices.size();
    image.matrices.push_back(
        {StrCat(want.name, "#", want.first_row), want.found, source, num_bytes, total});
    total += (num_bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
  }
  if (total == 0) return image;
  QUIRE_ASSIGN_OR_RETURN(Buffer memory, Buffer::Allocate(total));
  image.memory = std::make_shared<Buffer>(std::move(memory));
  return image;
}

Status WeightMap::FillOne(ops::OpContext& ctx, const Want& want, const Sources& sources,
                          float* vector) const {
  QUIRE_ASSIGN_OR_RETURN(const ConstTensorView source, SourceOf(want));
  switch (want.kind) {
    case Want::Kind::kMatrix: {
      ops::PackedPlace place;
      if (want.packed_idx) {
        std::byte* bytes =
            sources.image.memory->data() + sources.image.matrices[*want.packed_idx].start;
        place = {{sources.image.memory, bytes}, sources.is_packed};
      }
      QUIRE_ASSIGN_OR_RETURN(*want.matrix, ops::LinearWeight::Create(ctx, source, sources.precision,
                                                                     std::move(place)));
      return {};
    }
    case Want::Kind::kVector:
      ops::Dequantize(ctx, source, vector);
      *want.view = F32View(static_cast<const float*>(vector), {want.shape[0]});
      return {};
    case Want::Kind::kTable:
      *want.view = source;
      return {};
  }
  return {};
}

std::uint64_t WeightMap::BytesIn(const Want& want) {
  const std::uint64_t bytes = want.found->num_bytes;
  if (want.num_rows == 0) return bytes;
  const auto rows = static_cast<std::uint64_t>(want.shape[0]);
  return bytes / rows * static_cast<std::uint64_t>(want.num_rows);
}

std::size_t WeightMap::Keep(const Want& want) const {
  if (want.kind == Want::Kind::kVector) return 0;
  if (want.kind == Want::Kind::kTable) return want.found->num_bytes;
  // A tied head reads the same tensor as the embedding table.
  const bool is_shared = std::find(tables_.begin(), tables_.end(), want.found) != tables_.end();
  if (!want.matrix->owns_copy()) return is_shared ? 0 : want.matrix->num_bytes();
  const bool is_last_part = want.first_row + want.num_rows == want.shape[0];
  if (!is_shared && (want.num_rows == 0 || is_last_part)) checkpoint_.Release(*want.found);
  return want.matrix->num_bytes();
}

// What comes packed is not read from the checkpoint.
void WeightMap::Prefetch(bool is_packed) const {
  for (const Want& want : wants_) {
    if (want.found == nullptr || (is_packed && want.packed_idx)) continue;
    checkpoint_.Prefetch(*want.found);
  }
}

Status WeightMap::Fill(ops::OpContext& ctx, const LoadParams& params, const Sources& sources,
                       Loaded& loaded) const {
  std::uint64_t total = 0, done = 0;
  for (const Want& want : wants_) total += want.found != nullptr ? BytesIn(want) : 0;
  float* vector = loaded.vectors.f32();
  for (const Want& want : wants_) {
    if (want.found == nullptr) continue;
    QUIRE_RETURN_IF_ERROR(
        FillOne(ctx, want, sources, vector)
            .With(StrCat(checkpoint_.files()[static_cast<std::size_t>(want.found->file_idx)],
                         ": tensor ", want.name)));
    if (want.kind == Want::Kind::kVector) vector += PaddedValues(want.shape[0]);
    loaded.weight_bytes += Keep(want);
    done += BytesIn(want);
    if (params.progress != nullptr && *params.progress) (*params.progress)(done, total);
  }
  return {};
}

Result<WeightMap::Loaded> WeightMap::Load(ops::OpContext& ctx, const LoadParams& params) {
  QUIRE_RETURN_IF_ERROR(Check());
  QUIRE_RETURN_IF_ERROR(CheckTypes());
  std::int64_t num_values = 0;
  for (const Want& want : wants_) {
    if (want.kind == Want::Kind::kVector && want.found != nullptr) {
      num_values += PaddedValues(ValuesOf(want.shape));
    }
  }
  Loaded loaded;
  const std::size_t vector_bytes = static_cast<std::size_t>(num_values) * sizeof(float);
  QUIRE_ASSIGN_OR_RETURN(loaded.vectors, Buffer::Allocate(vector_bytes));
  loaded.weight_bytes = vector_bytes;
  QUIRE_ASSIGN_OR_RETURN(const PackedImage image, PlanImage(ctx, params.precision));
  PackedCache cache(ctx, checkpoint_, image,
                    params.packed_cache != nullptr ? *params.packed_cache : PackedCacheOptions());
  const bool is_packed = cache.Fill();
  Prefetch(is_packed);
  QUIRE_RETURN_IF_ERROR(Fill(ctx, params, {params.precision, image, is_packed}, loaded));
  if (!is_packed) loaded.write = cache.Keep();
  return loaded;
}

}  // namespace quire
