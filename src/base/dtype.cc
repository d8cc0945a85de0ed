#include "base/dtype.h"

#include <array>
#include <limits>

namespace quire {
namespace {

struct Row {
  DType type;
  std::string_view name;
  DTypeLayout layout;
};

// Block sizes as ggml-common.h defines them.
constexpr std::array kRows = {
    Row{DType::kF64, "F64", {1, 8}},
    Row{DType::kF32, "F32", {1, 4}},
    Row{DType::kF16, "F16", {1, 2}},
    Row{DType::kBF16, "BF16", {1, 2}},
    Row{DType::kF8E4M3, "F8_E4M3", {1, 1}},
    Row{DType::kF8E5M2, "F8_E5M2", {1, 1}},
    Row{DType::kI64, "I64", {1, 8}},
    Row{DType::kI32, "I32", {1, 4}},
    Row{DType::kI16, "I16", {1, 2}},
    Row{DType::kI8, "I8", {1, 1}},
    Row{DType::kU64, "U64", {1, 8}},
    Row{DType::kU32, "U32", {1, 4}},
    Row{DType::kU16, "U16", {1, 2}},
    Row{DType::kU8, "U8", {1, 1}},
    Row{DType::kBool, "BOOL", {1, 1}},
    Row{DType::kQ4_0, "Q4_0", {32, 18}},
    Row{DType::kQ4_1, "Q4_1", {32, 20}},
    Row{DType::kQ5_0, "Q5_0", {32, 22}},
    Row{DType::kQ5_1, "Q5_1", {32, 24}},
    Row{DType::kQ8_0, "Q8_0", {32, 34}},
    Row{DType::kQ8_1, "Q8_1", {32, 36}},
    Row{DType::kQ2_K, "Q2_K", {256, 84}},
    Row{DType::kQ3_K, "Q3_K", {256, 110}},
    Row{DType::kQ4_K, "Q4_K", {256, 144}},
    Row{DType::kQ5_K, "Q5_K", {256, 176}},
    Row{DType::kQ6_K, "Q6_K", {256, 210}},
    Row{DType::kQ8_K, "Q8_K", {256, 292}},
    Row{DType::kIQ1_S, "IQ1_S", {256, 50}},
    Row{DType::kIQ1_M, "IQ1_M", {256, 56}},
    Row{DType::kIQ2_XXS, "IQ2_XXS", {256, 66}},
    Row{DType::kIQ2_XS, "IQ2_XS", {256, 74}},
    Row{DType::kIQ2_S, "IQ2_S", {256, 82}},
    Row{DType::kIQ3_XXS, "IQ3_XXS", {256, 98}},
    Row{DType::kIQ3_S, "IQ3_S", {256, 110}},
    Row{DType::kIQ4_NL, "IQ4_NL", {32, 18}},
    Row{DType::kIQ4_XS, "IQ4_XS", {256, 136}},
    Row{DType::kTQ1_0, "TQ1_0", {256, 54}},
    Row{DType::kTQ2_0, "TQ2_0", {256, 66}},
    Row{DType::kMXFP4, "MXFP4", {32, 17}},
    Row{DType::kNVFP4, "NVFP4", {64, 36}},
};

constexpr bool RowsFollowTheEnum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(RowsFollowTheEnum());
static_assert(kRows.size() == static_cast<std::size_t>(DType::kNVFP4) + 1);

const Row& RowOf(DType type) { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view ToString(DType type) { return RowOf(type).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

DTypeLayout LayoutOf(DType type) { return RowOf(type).layout; }

std::optional<std::uint64_t> BytesOf(DType type, std::int64_t values) {
  const DTypeLayout layout = LayoutOf(type);
  if (values < 0 || values % layout.block_values != 0) return std::nullopt;
  const auto blocks = static_cast<std::uint64_t>(values / layout.block_values);
  const auto block_bytes = static_cast<std::uint64_t>(layout.block_bytes);
  if (blocks > std::numeric_limits<std::uint64_t>::max() / block_bytes) return std::nullopt;
  return blocks * block_bytes;
}

}  // namespace quire
