// What each ISA's folder exports: functions that set the table's slots for which it has variants.
#pragma once

namespace quire::kernels {

struct CpuTable;

void FillPortableNorm(CpuTable& table);
void FillPortablePeak(CpuTable& table);
void FillPortableRope(CpuTable& table);
void FillPortableActivation(CpuTable& table);
void FillPortableSoftmax(CpuTable& table);
void FillPortableAttention(CpuTable& table);
void FillPortableMatmulFloat(CpuTable& table);
void FillPortableMatmulQuant(CpuTable& table);
void FillPortableDequantize(CpuTable& table);
// How weights are packed for tiles of 8 and of 16 outputs; the matmul comes from an ISA's folder.
void FillPortablePack8(CpuTable& table);
void FillPortablePack16(CpuTable& table);

void FillAvx2Attention(CpuTable& table);
void FillAvx2Elementwise(CpuTable& table);
void FillAvx2MatmulFloat(CpuTable& table);
void FillAvx2MatmulQuant(CpuTable& table);
void FillAvx2Peak(CpuTable& table);
void FillAvx2Quantize(CpuTable& table);

void FillAvx512Attention(CpuTable& table);
void FillAvx512Elementwise(CpuTable& table);
void FillAvx512MatmulFloat(CpuTable& table);
void FillAvx512MatmulQuant(CpuTable& table);
void FillAvx512Peak(CpuTable& table);
void FillAvx512Quantize(CpuTable& table);

void FillAvx512Bf16Attention(CpuTable& table);
void FillAvx512Bf16Matmul(CpuTable& table);

void FillNeonAttention(CpuTable& table);
void FillNeonElementwise(CpuTable& table);
void FillNeonMatmulFloat(CpuTable& table);

}  // namespace quire::kernels
