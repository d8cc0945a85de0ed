// Norms, activations, rotary embedding and softmax on f32 rows.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire::ops {

// out[r] = x[r] / rms(x[r]) * weight; x, out [rows, dim], weight [dim] f32; out may be x.
// With x of [rows, heads, dim] each head is a row (q/k norm).
void RmsNorm(OpContext& ctx, ConstTensorView x, ConstTensorView weight, float eps, TensorView out);

// out[r] = (x[r] - mean) / sqrt(var + eps) * weight + bias; `bias` may be empty.
void LayerNorm(OpContext& ctx, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
               float eps, TensorView out);

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu, kRelu2 };

// out = act(gate) * up, [rows, dim]; out may be gate or up.
void GatedActivation(OpContext& ctx, Activation activation, ConstTensorView gate,
                     ConstTensorView up, TensorView out);
void Activate(OpContext& ctx, Activation activation, ConstTensorView x, TensorView out);

void Add(OpContext& ctx, ConstTensorView a, ConstTensorView b, TensorView out);
void Scale(OpContext& ctx, ConstTensorView x, float factor, TensorView out);

// How pairs of a head turn: kHalf pairs i with i + rotary_dim / 2 (Hugging Face, "neox"),
// kInterleaved pairs 2i with 2i + 1 (GGUF's Llama, GPT-J).
enum class RopeStyle { kHalf, kInterleaved };

struct RopeTable {
  std::span<const float> cos_sin;  // [max_positions, rotary_dim]: rotary_dim/2 cosines, then sines
  std::int64_t max_positions;
  int rotary_dim;  // leading values of a head that turn, even
  RopeStyle style;
};

// Turns `x` [rows, heads, head_dim] in place by the angles of `positions` [rows].
void Rope(OpContext& ctx, const RopeTable& table, std::span<const std::int32_t> positions,
          TensorView x);

}  // namespace quire::ops
