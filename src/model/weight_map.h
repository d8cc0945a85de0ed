// The weights a model wants, held against those a checkpoint has, and loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "model/checkpoint.h"
#include "model/packed_cache.h"
#include "ops/context.h"
#include "ops/linear.h"
#include "tensor/tensor.h"

namespace quire {

// y = x W^T + b.
struct Projection {
  ops::LinearWeight weight;
  ConstTensorView bias;  // [out] f32, or empty
};

struct ProjectionShape {
  std::int64_t out;
  std::int64_t in;
  bool has_bias = false;
};

// Layers declare what they want and where it shall go, under Hugging Face's names; Load then
// checks everything, and only then fills the places. A place must not move between its declaration
// and the end of Load. One thread.
class WeightMap {
 public:
  // `checkpoint` must outlive what Load fills.
  explicit WeightMap(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  // A matrix [out, in] to multiply with. The same tensor may be declared again (a tied head).
  void Matrix(std::string name, std::int64_t out, std::int64_t in, ops::LinearWeight* place);
  // Values as f32, [size].
  void Vector(std::string name, std::int64_t size, ConstTensorView* place);
  // The same, left empty where the checkpoint has none.
  void OptionalVector(std::string name, std::int64_t size, ConstTensorView* place);
  // A table [rows, cols] in the checkpoint's own type and bytes.
  void Table(std::string name, std::int64_t rows, std::int64_t cols, ConstTensorView* place);
  // NAME.weight and, where the shape has one, NAME.bias.
  void Linear(const std::string& name, const ProjectionShape& shape, Projection* place);
  // NAME.weight [all parts' rows, in], whose rows are the parts' one after another.
  struct Part {
    Projection* place;
    std::int64_t out;
  };
  void FusedLinear(const std::string& name, std::int64_t in, const std::vector<Part>& parts);
  // `name` may be there and is not wanted.
  void Ignore(std::string name);

  struct LoadParams {
    ops::MatmulPrecision precision;
    const std::function<void(std::uint64_t, std::uint64_t)>* progress;  // may be empty
    const PackedCacheOptions* packed_cache = nullptr;                   // null: none
  };
  struct Loaded {
    Buffer vectors;  // what the vectors' places point into
    std::size_t weight_bytes = 0;
    std::unique_ptr<BackgroundWrite> write;  // of the packed weights, while it lasts
  };
  // kDataLoss that lists all that is missing, surplus and misshaped; kUnimplemented for types that
  // no kernel multiplies.
  Result<Loaded> Load(ops::OpContext& ctx, const LoadParams& params);

 private:
  struct Want {
    enum class Kind { kMatrix, kVector, kTable };
    Kind kind;
    std::string name;  // as the checkpoint spells it
    std::vector<std::int64_t> shape;
    bool is_optional = false;
    std::int64_t first_row = 0;  // of a matrix that is a part of the tensor
    std::int64_t num_rows = 0;   // 0: all
    ops::LinearWeight* matrix = nullptr;
    ConstTensorView* view = nullptr;
    const TensorInfo* found = nullptr;
    std::optional<std::size_t> packed_idx = std::nullopt;  // in the image
  };

  void Add(Want want);
  Status Check();
  Status CheckTypes() const;
  // Where packed matrices go, in the order in which they are wanted.
  Result<PackedImage> PlanImage(const ops::OpContext& ctx, ops::MatmulPrecision precision);
  // What all places are filled from.
  struct Sources {
    ops::MatmulPrecision precision;
    const PackedImage& image;
    bool is_packed;  // the image has its bytes already
  };
  Status Fill(ops::OpContext& ctx, const LoadParams& params, const Sources& sources,
              Loaded& loaded) const;
  Status FillOne(ops::OpContext& ctx, const Want& want, const Sources& sources,
                 float* vector) const;
  // The rows that a want takes of its tensor.
  Result<ConstTensorView> SourceOf(const Want& want) const;
  void Prefetch(bool is_packed) const;
  // Bytes of the file that a want reads.
  static std::uint64_t BytesIn(const Want& want);
  // Bytes that a filled place keeps beside the vectors; lets go of what it has copied.
  std::size_t Keep(const Want& want) const;

  const Checkpoint& checkpoint_;
  std::vector<Want> wants_;
  std::unordered_set<std::string> known_;  // names that are wanted or ignored
  std::vector<const TensorInfo*> tables_;  // that wants of this kind found
};

// The name that GGUF files have for Hugging Face's `name`; `name` itself where they have none.
std::string GgufTensorName(std::string_view name);

}  // namespace quire
