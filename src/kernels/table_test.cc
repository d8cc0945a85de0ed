#include "kernels/table.h"

#include "kernels/testing.h"

namespace quire::kernels {
namespace {

TEST(ChooseIsa, TakesAWishThatTheProcessorRunsAndNoOther) {
  EXPECT_EQ(*ChooseIsa("portable"), CpuIsa::kPortable);
  EXPECT_TRUE(IsRunnable(*ChooseIsa()));
  EXPECT_EQ(ChooseIsa("sse9").status().code(), Code::kInvalidArgument);
  for (const CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAvx512Bf16, CpuIsa::kNeon,
                           CpuIsa::kNeonDot, CpuIsa::kNeonI8mm}) {
    const auto chosen = ChooseIsa(ToString(isa));
    EXPECT_EQ(chosen.ok(), IsRunnable(isa)) << ToString(isa);
  }
}

TEST(MakeTable, HasEveryOperatorForEveryRunnableIsa) {
  for (const CpuIsa isa : {CpuIsa::kPortable, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAvx512Bf16,
                           CpuIsa::kNeon, CpuIsa::kNeonDot, CpuIsa::kNeonI8mm}) {
    if (!IsRunnable(isa)) continue;
    const CpuTable table = MakeTable(isa);
    EXPECT_EQ(table.isa, isa);
    EXPECT_NE(table.rms_norm, nullptr);
    EXPECT_NE(table.layer_norm, nullptr);
    EXPECT_NE(table.rope, nullptr);
    EXPECT_NE(table.add, nullptr);
    EXPECT_NE(table.scale, nullptr);
    EXPECT_NE(table.arg_max, nullptr);
    EXPECT_NE(table.sum_exp, nullptr);
    EXPECT_NE(table.quantize, nullptr);
    EXPECT_NE(table.merge_attention, nullptr);
    EXPECT_EQ(table.bf16.matmul != nullptr, isa == CpuIsa::kAvx512Bf16);
    EXPECT_EQ(table.bf16.round != nullptr, isa == CpuIsa::kAvx512Bf16);
    for (const auto function : table.activation) EXPECT_NE(function, nullptr);
    for (const auto function : table.matmul_float) EXPECT_NE(function, nullptr);
    for (const auto function : table.write_kv) EXPECT_NE(function, nullptr);
    for (const auto function : table.attend) EXPECT_NE(function, nullptr);
    // A quantized type can be multiplied wherever portable can, and everywhere dequantized.
    for (int i = 0; i < kNumDTypes; ++i) {
      EXPECT_EQ(table.quant[i].matmul != nullptr, PortableTable().quant[i].matmul != nullptr);
      EXPECT_EQ(table.dequantize[i] != nullptr, PortableTable().dequantize[i] != nullptr);
    }
  }
}

}  // namespace
}  // namespace quire::kernels
