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
    IsaName{CpuIsa::kAvx512, "avx512"}, IsaName{CpuIsa::kAvx512Bf16, "avx512_bf16"},
    IsaName{CpuIsa::kNeon, "neon"}};

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
// Products with int8 activations are portable ones here.
void FillNeon(CpuTable& table) {
  FillNeonAttention(table);
  FillNeonElementwise(table);
  FillNeonMatmulFloat(table);
}
#endif

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
  for (const CpuIsa isa : {CpuIsa::kAvx512Bf16, CpuIsa::kAvx512, CpuIsa::kAvx2, CpuIsa::kNeon}) {
    if (IsRunnable(isa)) return isa;
  }
  return CpuIsa::kPortable;
}

CpuTable MakeTable(CpuIsa isa) {
  QUIRE_CHECK(IsRunnable(isa)) << ToString(isa);
  CpuTable table{};
  table.isa = isa;
  FillPortable(table);
#if defined(__x86_64__)
  const bool is_avx512 = isa == CpuIsa::kAvx512 || isa == CpuIsa::kAvx512Bf16;
  if (isa == CpuIsa::kAvx2 || is_avx512) FillAvx2(table);
  if (is_avx512) FillAvx512(table);
  if (isa == CpuIsa::kAvx512Bf16) FillAvx512Bf16(table);
#elif defined(__aarch64__)
  if (isa == CpuIsa::kNeon) FillNeon(table);
#endif
  return table;
}

}  // namespace quire::kernels
