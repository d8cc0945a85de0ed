#include <optional>

#include "base/strings.h"
#include "ops/linear.h"
#include "ops/packed_weight.h"

namespace quire::ops {
namespace {

using Packed = LinearWeight::Packed;

std::optional<kernels::FloatType> FloatTypeOf(DType type) {
  if (type == DType::kF32) return kernels::FloatType::kF32;
  if (type == DType::kF16) return kernels::FloatType::kF16;
  if (type == DType::kBF16) return kernels::FloatType::kBF16;
  return std::nullopt;
}

void PackTiles(OpContext& ctx, const std::byte* rows, std::byte* tiles, const Packed& packed) {
  const std::int64_t per_tile = packed.quant.tile_outputs;
  const std::int64_t num_tiles = CeilDiv(packed.out_features, per_tile);
  ctx.pool->ForEach(num_tiles, [&](std::int64_t tile, int) {
    const std::int64_t first = tile * per_tile;
    packed.quant.pack({.rows = rows + first * packed.row_bytes(),
                       .row_bytes = packed.row_bytes(),
                       .outputs = std::min(per_tile, packed.out_features - first),
                       .blocks = packed.in_features / LayoutOf(packed.dtype).block_values,
                       .tile = tiles + tile * packed.tile_bytes()});
  });
}

// Two dimensions, and rows of whole blocks.
bool IsMatrix(ConstTensorView source) {
  return source.shape().rank() == 2 && source.dim(0) > 0 && source.dim(1) > 0 &&
         BytesOf(source.dtype(), source.dim(1)).has_value();
}

// The kernel that multiplies such weights with int8 activations; null where there is none.
const kernels::QuantKernel* QuantKernelFor(const OpContext& ctx, DType dtype,
                                           MatmulPrecision precision) {
  const kernels::QuantKernel& kernel = ctx.table->quant[static_cast<int>(dtype)];
  return precision == MatmulPrecision::kFast && kernel.matmul != nullptr ? &kernel : nullptr;
}

std::size_t TileBytes(const Packed& packed) {
  const std::int64_t tiles = CeilDiv(packed.out_features, packed.quant.tile_outputs);
  return static_cast<std::size_t>(tiles * packed.tile_bytes());
}

Result<std::shared_ptr<std::byte>> OwnPlace(std::size_t num_bytes) {
  QUIRE_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(num_bytes));
  const auto owner = std::make_shared<Buffer>(std::move(buffer));
  return std::shared_ptr<std::byte>(owner, owner->data());
}

// Fills in the layout of a quantized weight; packs it where its kernel wants tiles.
Status PrepareQuant(OpContext& ctx, ConstTensorView source, PackedPlace place, Packed& packed) {
  if (packed.quant.pack == nullptr) return {};
  packed.num_bytes = TileBytes(packed);
  if (place.bytes == nullptr) {
    QUIRE_ASSIGN_OR_RETURN(place.bytes, OwnPlace(packed.num_bytes));
  }
  packed.copy = std::move(place.bytes);
  if (!place.is_packed) PackTiles(ctx, source.data(), packed.copy.get(), packed);
  packed.data = packed.copy.get();
  return {};
}

}  // namespace

bool LinearWeight::IsSupported(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ8_0:
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ4_K:
    case DType::kQ5_K:
    case DType::kQ6_K:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
    case DType::kTQ1_0:
    case DType::kTQ2_0:
    case DType::kMXFP4:
    case DType::kNVFP4:
      return true;
    default:
      return false;
  }
}

std::size_t LinearWeight::PackedBytes(const OpContext& ctx, ConstTensorView source,
                                      MatmulPrecision precision) {
  const kernels::QuantKernel* kernel = QuantKernelFor(ctx, source.dtype(), precision);
  if (kernel == nullptr || kernel->pack == nullptr || !IsMatrix(source)) return 0;
  Packed packed;
  packed.dtype = source.dtype();
  packed.out_features = source.dim(0);
  packed.in_features = source.dim(1);
  packed.quant = *kernel;
  return TileBytes(packed);
}

Result<LinearWeight> LinearWeight::Create(OpContext& ctx, ConstTensorView source,
                                          MatmulPrecision precision, PackedPlace place) {
  if (!IsSupported(source.dtype())) {
    return Unimplemented(
        StrCat("weights of type ", ToString(source.dtype()), " cannot be multiplied"));
  }
  if (!IsMatrix(source)) {
    return DataLoss(StrCat("a weight of type ", ToString(source.dtype()),
                           " needs two dimensions and rows of whole blocks"));
  }
  LinearWeight weight;
  weight.packed_ = std::make_unique<Packed>();
  Packed& packed = *weight.packed_;
  packed.dtype = source.dtype();
  packed.out_features = source.dim(0);
  packed.in_features = source.dim(1);
  packed.num_bytes = static_cast<std::size_t>(packed.row_bytes() * packed.out_features);
  packed.data = source.data();
  if (source.dtype() == DType::kBF16 && precision == MatmulPrecision::kFast &&
      ctx.table->bf16.matmul != nullptr) {
    packed.path = Packed::Path::kBf16;
    packed.matmul_bf16 = ctx.table->bf16.matmul;
    return weight;
  }
  if (const auto float_type = FloatTypeOf(source.dtype())) {
    packed.path = Packed::Path::kFloat;
    packed.matmul_float = ctx.table->matmul_float[static_cast<int>(*float_type)];
    return weight;
  }
  if (const auto* kernel = QuantKernelFor(ctx, source.dtype(), precision)) {
    packed.path = Packed::Path::kQuant;
    packed.quant = *kernel;
    QUIRE_RETURN_IF_ERROR(PrepareQuant(ctx, source, std::move(place), packed));
    return weight;
  }
  packed.path = Packed::Path::kExpand;
  packed.matmul_float = ctx.table->matmul_float[static_cast<int>(kernels::FloatType::kF32)];
  packed.dequantize = ctx.table->dequantize[static_cast<int>(source.dtype())];
  return weight;
}

LinearWeight::LinearWeight() = default;
LinearWeight::LinearWeight(LinearWeight&&) noexcept = default;
LinearWeight& LinearWeight::operator=(LinearWeight&&) noexcept = default;
LinearWeight::~LinearWeight() = default;

DType LinearWeight::dtype() const { return packed_->dtype; }
std::int64_t LinearWeight::out_features() const { return packed_->out_features; }
std::int64_t LinearWeight::in_features() const { return packed_->in_features; }
bool LinearWeight::owns_copy() const { return packed_->copy != nullptr; }
std::size_t LinearWeight::num_bytes() const { return packed_->num_bytes; }

}  // namespace quire::ops
