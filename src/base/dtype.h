// Element types of tensors and checkpoints, and how many bytes they take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quire {

// Element types of checkpoint files. The block types are GGML's; their layouts are documented in
// kernels/quant.h.
enum class DType : std::uint8_t {
  // NOLINTBEGIN(readability-identifier-naming): the block types keep GGML's spelling
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ8_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4,
  // NOLINTEND(readability-identifier-naming)
};

// "F32", "Q4_K", …: the spelling of safetensors and GGML.
std::string_view ToString(DType type);
std::optional<DType> ParseDType(std::string_view name);

// Values in a block and bytes of a block; 1 value a block for plain types.
struct DTypeLayout {
  int block_values;
  int block_bytes;
};
DTypeLayout LayoutOf(DType type);

// Bytes of `values` values of `type`; nullopt where they are no whole number of blocks, negative,
// or too many for 64 bits.
std::optional<std::uint64_t> BytesOf(DType type, std::int64_t values);

}  // namespace quire
