// The instance of wide/attention_body.h for this ISA.
#include "kernels/fill.h"
#include "kernels/neon/lanes.h"
#include "kernels/table.h"
#include "kernels/wide/attention_body.h"

namespace quire::kernels {

void FillNeonAttention(CpuTable& table) {
  table.attend[static_cast<int>(KvType::kF32)] = Attend<float>;
  table.attend[static_cast<int>(KvType::kF16)] = Attend<F16Bits>;
  table.attend[static_cast<int>(KvType::kBF16)] = Attend<Bf16Bits>;
  table.attend[static_cast<int>(KvType::kInt8)] = Attend<std::int8_t>;
  table.merge_attention = Merge;
}

}  // namespace quire::kernels
