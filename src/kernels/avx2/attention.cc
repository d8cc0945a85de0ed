// The instances of wide/attention_body.h and wide/write_kv_body.h for this ISA.
#include "kernels/avx2/lanes.h"
#include "kernels/fill.h"
#include "kernels/table.h"
#include "kernels/wide/attention_body.h"
#include "kernels/wide/write_kv_body.h"

namespace quire::kernels {

void FillAvx2Attention(CpuTable& table) {
  table.write_kv[static_cast<int>(KvType::kF32)] = WriteKv<float>;
  table.write_kv[static_cast<int>(KvType::kF16)] = WriteKv<F16Bits>;
  table.write_kv[static_cast<int>(KvType::kBF16)] = WriteKv<Bf16Bits>;
  table.attend[static_cast<int>(KvType::kF32)] = Attend<float>;
  table.attend[static_cast<int>(KvType::kF16)] = Attend<F16Bits>;
  table.attend[static_cast<int>(KvType::kBF16)] = Attend<Bf16Bits>;
  table.write_kv[static_cast<int>(KvType::kInt8)] = WriteKvInt8;
  table.attend[static_cast<int>(KvType::kInt8)] = Attend<std::int8_t>;
  table.merge_attention = Merge;
}

}  // namespace quire::kernels
