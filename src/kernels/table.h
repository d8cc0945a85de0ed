// The function table of one CPU: every kernel under its contract's type, chosen once at start.
#pragma once

#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "base/status.h"
#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/matmul.h"
#include "kernels/norm.h"
#include "kernels/peak.h"
#include "kernels/quant.h"
#include "kernels/rope.h"
#include "kernels/softmax.h"

namespace quire::kernels {

enum class CpuIsa { kPortable, kAvx2, kAvx512, kAvx512Bf16, kNeon, kNeonDot, kNeonI8mm };

inline constexpr int kNumDTypes = static_cast<int>(DType::kNVFP4) + 1;

// Indices of arrays are the enumerators of the named type.
struct CpuTable {
  CpuIsa isa;
  RmsNormFn rms_norm;
  LayerNormFn layer_norm;
  RopeFn rope;
  ActivationFn activation[kNumActivationKinds];  // ActivationKind
  AddFn add;
  ScaleFn scale;
  ArgMaxFn arg_max;
  SumExpFn sum_exp;
  MatmulFloatFn matmul_float[kNumFloatTypes];  // FloatType
  Bf16Kernel bf16;
  ScaleRule scale_rule;  // of `quantize`
  QuantizeFn quantize;
  QuantKernel quant[kNumDTypes];        // DType
  DequantizeFn dequantize[kNumDTypes];  // DType; null: not supported
  WriteKvFn write_kv[kNumKvTypes];      // KvType
  AttendFn attend[kNumKvTypes];         // KvType
  AttendFn attend_pairs;                // null: products of bf16 pairs are not faster
  MergeAttentionFn merge_attention;
  PeakKernel peak[kNumPeakKinds];  // PeakKind
};

// "portable", "avx2", "avx512", "avx512_bf16", "neon", "neon_dot", "neon_i8mm".
std::string_view ToString(CpuIsa isa);

// The fastest ISA that this processor runs, or the one wished for (the value of QUIRE_CPU_ISA). A
// wish that is no name or that the processor lacks is kInvalidArgument, never a fallback.
Result<CpuIsa> ChooseIsa(std::optional<std::string_view> wish = std::nullopt);
bool IsRunnable(CpuIsa isa);

// The kernels of a runnable ISA; an operator without a variant of its own has the next lower one's.
// Without a rule, of that by which this processor runs the ISA's products faster.
bool HasScaleRule(CpuIsa isa, ScaleRule rule);
CpuTable MakeTable(CpuIsa isa, ScaleRule rule);
CpuTable MakeTable(CpuIsa isa);

}  // namespace quire::kernels
