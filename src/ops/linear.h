// Weight matrices and the products with them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire::ops {

// How a product with a weight may treat its activations.
enum class MatmulPrecision {
  kFast,     // rounded where that is faster for this weight type and ISA: to int8 per row and
             // block, or to bf16
  kFloat32,  // f32 activations always; the weights are dequantized on the way
};

// Where a weight's packed bytes lie, of a buffer that many share; aligned to 64.
struct PackedPlace {
  std::shared_ptr<std::byte> bytes = nullptr;  // null: memory of its own
  bool is_packed = false;                      // they are there already
};

// A weight matrix [out_features, in_features] in the layout its kernels want: repacked, or the
// checkpoint's own bytes where they already suit. Immutable, shared by threads.
class LinearWeight {
 public:
  // Prepares `source`, [out, in], of any type that `IsSupported` names. Keeps a view of its bytes
  // where no repacking is needed (owns_copy() is false): then they must outlive the weight.
  // The layout and the kernel depend on type, ISA and precision alone, never on a batch.
  static Result<LinearWeight> Create(OpContext& ctx, ConstTensorView source,
                                     MatmulPrecision precision, PackedPlace place = {});
  // Bytes that Create packs into for such a source, all of which it writes; 0 where it packs
  // nothing or refuses the source.
  static std::size_t PackedBytes(const OpContext& ctx, ConstTensorView source,
                                 MatmulPrecision precision);
  static bool IsSupported(DType dtype);

  LinearWeight();
  LinearWeight(LinearWeight&&) noexcept;
  LinearWeight& operator=(LinearWeight&&) noexcept;
  ~LinearWeight();

  bool empty() const { return packed_ == nullptr; }
  DType dtype() const;  // of the checkpoint
  std::int64_t out_features() const;
  std::int64_t in_features() const;
  bool owns_copy() const;
  std::size_t num_bytes() const;  // read per product

  struct Packed;
  const Packed& packed() const { return *packed_; }

 private:
  std::unique_ptr<Packed> packed_;
};

// One product that shares its input with others.
struct LinearJob {
  const LinearWeight* weight;
  TensorView out;             // [rows, out_features] f32, may not overlap x
  ConstTensorView bias = {};  // [out_features] f32, or empty
  bool accumulate = false;    // out += x w^T instead of out = x w^T
};

// The norm of an operator's input.
struct InputNorm {
  ConstTensorView weight = {};  // [in_features] f32; empty: the input is taken as it is
  float eps = 0.0F;
  // [rows, in_features] f32, overlapping neither x nor any `out`: takes the normed rows where they
  // are wanted in memory. Its contents afterwards are unspecified.
  TensorView normed = {};
};

// out[r, o] = sum_i x[r, i] * w[o, i] (+ bias[o]) for each job; x is [rows, in_features] f32, and
// stands for RmsNorm(x) where a norm is given. Where all weights are quantized and each thread
// quantizes rows for itself (up to 64 rows, or weights small enough to be read once a panel of
// rows), it norms them too, without a pass over memory. Activations are quantized once for all
// jobs. A row has the same bits whatever other rows are in the call and however many threads run
// it.
void Linear(OpContext& ctx, ConstTensorView x, std::span<const LinearJob> jobs,
            const InputNorm& norm = {});

// The rows `ids` of an embedding table of any weight type, dequantized: out [ids, cols] f32.
// Ids must be in range.
void Embed(OpContext& ctx, ConstTensorView table, std::span<const std::int32_t> ids,
           TensorView out);

// `values` values of any supported type as f32, one rounding each where the type multiplies.
void Dequantize(OpContext& ctx, ConstTensorView source, float* out);

}  // namespace quire::ops
