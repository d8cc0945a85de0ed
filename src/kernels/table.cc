#include "kernels/table.h"

#include <array>
#include <string>
#include <vector>

#include "base/strings.h"
#include "kernels/fill.h"
#include "platform/cpu.h"

namespace quire::kernels {
namespace {

struct IsaName {
  CpuIsa isa;
  std::string_view name;
};
constexpr std::array kIsaNames = {
    IsaName{CpuIsa::kPortable, "portable"}, IsaName{CpuIsa::kAvx2, "avx2"},
    IsaName{CpuIsa::kAvx512, "avx512"},     IsaName{CpuIsa::kAvx512Bf16, "avx512_bf16"},
    IsaName{CpuIsa::kNeon, "neon"},         IsaName{CpuIsa::kNeonDot, "neon_dot"},
    IsaName{CpuIsa::kNeonI8mm, "neon_i8mm"}};

void FillPortable(CpuTable& table) {
  FillPortableNorm(table);
  FillPortablePeak(table);
  FillPortableRope(table);
  FillPortableActivation(table);
  FillPortableSoftmax(table);
  FillPortableAttention(table);
  FillPortableMatmulFloat(table);
  FillPortableMatmulQuant(table);
  FillPortableDequantize(table);
}

#if defined(__x86_64__)
void FillAvx2(CpuTable& table) {
  FillAvx2Attention(table);
  FillAvx2Elementwise(table);
  FillAvx2MatmulFloat(table);
  FillPortablePack8(table);
  FillAvx2MatmulQuant(table);
  FillAvx2Peak(table);
  FillAvx2Quantize(table);
}

void FillAvx512(CpuTable& table) {
  FillAvx512Attention(table);
  FillAvx512Elementwise(table);
  FillAvx512MatmulFloat(table);
  FillPortablePack16(table);
  FillAvx512MatmulQuant(table);
  FillAvx512Peak(table);
  FillAvx512Quantize(table);
}

void FillAvx512Bf16(CpuTable& table) {
  FillAvx512Bf16Attention(table);
  FillAvx512Bf16Matmul(table);
}
#elif defined(__aarch64__)
void FillNeon(CpuTable& table) {
  FillNeonAttention(table);
  FillNeonElementwise(table);
  FillNeonMatmulFloat(table);
  FillPortablePack8(table);
  FillNeonMatmulQuant(table);
  FillNeonPeak(table);
  FillNeonQuantize(table);
}

void FillNeonDot(CpuTable& table) {
  FillNeonDotMatmulQuant(table);
  FillNeonDotPeak(table);
}

void FillNeonI8mm(CpuTable& table) {
  FillNeonI8mmMatmulQuant(table);
  FillNeonI8mmPeak(table);
}
#endif

bool IsAvx512(CpuIsa isa) { return isa == CpuIsa::kAvx512 || isa == CpuIsa::kAvx512Bf16; }

std::string RunnableNames() {
  std::vector<std::string_view> names;
  for (const IsaName& row : kIsaNames) {
    if (IsRunnable(row.isa)) names.push_back(row.name);
  }
  return Join(names, ", ");
}

}  // namespace

std::string_view ToString(CpuIsa isa) {
  for (const IsaName& row : kIsaNames) {
    if (row.isa == isa) return row.name;
  }
  return "";
}

bool IsRunnable(CpuIsa isa) {
  const CpuFeatures features = DetectCpuFeatures();
  switch (isa) {
    case CpuIsa::kPortable:
      return true;
    case CpuIsa::kAvx2:
      return features.avx2;
    case CpuIsa::kAvx512:
      return features.avx512;
    case CpuIsa::kAvx512Bf16:
      return features.avx512_bf16;
    case CpuIsa::kNeon:
      return features.neon;
    case CpuIsa::kNeonDot:
      return features.neon_dot;
    case CpuIsa::kNeonI8mm:
      return features.neon_i8mm;
  }
  return false;
}

Result<CpuIsa> ChooseIsa(std::optional<std::string_view> wish) {
  if (wish) {
    for (const IsaName& row : kIsaNames) {
      if (row.name == *wish && IsRunnable(row.isa)) return row.isa;
    }
    return InvalidArgument(
        StrCat("QUIRE_CPU_ISA: this processor runs ", RunnableNames(), ", got ", Printable(*wish)));
  }
  for (const CpuIsa isa : {CpuIsa::kAvx512Bf16, CpuIsa::kAvx512, CpuIsa::kAvx2, CpuIsa::kNeonI8mm,
                           CpuIsa::kNeonDot, CpuIsa::kNeon}) {
    if (IsRunnable(isa)) return isa;
  }
  return CpuIsa::kPortable;
}

bool HasScaleRule(CpuIsa isa, ScaleRule rule) {
  return rule == ScaleRule::kExact || isa == CpuIsa::kPortable || IsAvx512(isa);
}

CpuTable MakeTable(CpuIsa isa) {
  const bool adds_apart = IsAvx512(isa) && DetectCpuFeatures().adds_apart;
  return MakeTable(isa, adds_apart ? ScaleRule::kTwoPowers : ScaleRule::kExact);
}

CpuTable MakeTable(CpuIsa isa, ScaleRule rule) {
  QUIRE_CHECK(IsRunnable(isa)) << ToString(isa);
  QUIRE_CHECK(HasScaleRule(isa, rule)) << ToString(isa);
  CpuTable table{};
  table.isa = isa;
  table.scale_rule = rule;
  FillPortable(table);
#if defined(__x86_64__)
  if (isa == CpuIsa::kAvx2 || IsAvx512(isa)) FillAvx2(table);
  if (IsAvx512(isa)) FillAvx512(table);
  if (isa == CpuIsa::kAvx512Bf16) FillAvx512Bf16(table);
#elif defined(__aarch64__)
  if (isa != CpuIsa::kPortable) FillNeon(table);
  if (isa == CpuIsa::kNeonDot || isa == CpuIsa::kNeonI8mm) FillNeonDot(table);
  if (isa == CpuIsa::kNeonI8mm) FillNeonI8mm(table);
#endif
  return table;
}

}  // namespace quire::kernels
