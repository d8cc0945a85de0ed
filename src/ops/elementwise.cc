#include "ops/elementwise.h"

#include <algorithm>

namespace quire::ops {
namespace {

// Values below which a second thread costs more than it saves: waking it takes about a microsecond.
constexpr std::int64_t kValuesPerTask = 16384;

// Calls function(begin, end) over [0, count) units of `unit_values` values, on the pool when that
// is much.
template <typename F>
void ForRanges(OpContext& ctx, std::int64_t count, std::int64_t unit_values, const F& function) {
  const std::int64_t grain =
      std::max<std::int64_t>(1, kValuesPerTask / std::max<std::int64_t>(unit_values, 1));
  if (count <= grain) {
    function(std::int64_t{0}, count);
    return;
  }
  ctx.pool->ForEach(CeilDiv(count, grain), [&](std::int64_t task, int) {
    function(task * grain, std::min((task + 1) * grain, count));
  });
}

// Product of all dimensions but the last.
std::int64_t RowsOf(ConstTensorView x) {
  const std::int64_t dim = x.dim(x.shape().rank() - 1);
  return dim == 0 ? 0 : x.shape().num_values() / dim;
}

std::int64_t RowDim(ConstTensorView x) { return x.dim(x.shape().rank() - 1); }

void CheckSame(ConstTensorView a, ConstTensorView b) {
  QUIRE_CHECK(a.shape().num_values() == b.shape().num_values());
}

}  // namespace

void RmsNorm(OpContext& ctx, ConstTensorView x, ConstTensorView weight, float eps, TensorView out) {
  const std::int64_t dim = RowDim(x);
  CheckSame(x, out);
  QUIRE_CHECK(weight.shape().num_values() == dim);
  ForRanges(ctx, RowsOf(x), dim, [&](std::int64_t begin, std::int64_t end) {
    ctx.table->rms_norm({.x = x.f32() + begin * dim,
                         .weight = weight.f32(),
                         .out = out.f32() + begin * dim,
                         .rows = end - begin,
                         .dim = dim,
                         .x_stride = dim,
                         .out_stride = dim,
                         .eps = eps});
  });
}

void LayerNorm(OpContext& ctx, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
               float eps, TensorView out) {
  const std::int64_t dim = RowDim(x);
  CheckSame(x, out);
  QUIRE_CHECK(weight.shape().num_values() == dim);
  ForRanges(ctx, RowsOf(x), dim, [&](std::int64_t begin, std::int64_t end) {
    ctx.table->layer_norm({.x = x.f32() + begin * dim,
                           .weight = weight.f32(),
                           .bias = bias.empty() ? nullptr : bias.f32(),
                           .out = out.f32() + begin * dim,
                           .rows = end - begin,
                           .dim = dim,
                           .x_stride = dim,
                           .out_stride = dim,
                           .eps = eps});
  });
}

void GatedActivation(OpContext& ctx, Activation activation, ConstTensorView gate,
                     ConstTensorView up, TensorView out) {
  CheckSame(gate, up);
  CheckSame(gate, out);
  const auto apply = ctx.table->activation[static_cast<int>(activation)];
  ForRanges(ctx, gate.shape().num_values(), 1, [&](std::int64_t begin, std::int64_t end) {
    apply(gate.f32() + begin, up.f32() + begin, out.f32() + begin, end - begin);
  });
}

void Activate(OpContext& ctx, Activation activation, ConstTensorView x, TensorView out) {
  CheckSame(x, out);
  const auto apply = ctx.table->activation[static_cast<int>(activation)];
  ForRanges(ctx, x.shape().num_values(), 1, [&](std::int64_t begin, std::int64_t end) {
    apply(x.f32() + begin, nullptr, out.f32() + begin, end - begin);
  });
}

void Add(OpContext& ctx, ConstTensorView a, ConstTensorView b, TensorView out) {
  CheckSame(a, b);
  CheckSame(a, out);
  ForRanges(ctx, a.shape().num_values(), 1, [&](std::int64_t begin, std::int64_t end) {
    ctx.table->add(a.f32() + begin, b.f32() + begin, out.f32() + begin, end - begin);
  });
}

void Scale(OpContext& ctx, ConstTensorView x, float factor, TensorView out) {
  CheckSame(x, out);
  ForRanges(ctx, x.shape().num_values(), 1, [&](std::int64_t begin, std::int64_t end) {
    ctx.table->scale(x.f32() + begin, factor, out.f32() + begin, end - begin);
  });
}

void Rope(OpContext& ctx, const RopeTable& table, std::span<const std::int32_t> positions,
          TensorView x) {
  QUIRE_CHECK(x.shape().rank() == 3);
  const std::int64_t row = x.dim(1) * x.dim(2);
  QUIRE_CHECK(static_cast<std::int64_t>(positions.size()) == x.dim(0));
  QUIRE_CHECK(table.rotary_dim <= x.dim(2) && table.rotary_dim % 2 == 0);
  QUIRE_CHECK(static_cast<std::int64_t>(table.cos_sin.size()) >=
              table.max_positions * table.rotary_dim);
  for (const std::int32_t position : positions) {
    QUIRE_DCHECK(position >= 0 && position < table.max_positions);
  }
  ForRanges(ctx, x.dim(0), row, [&](std::int64_t begin, std::int64_t end) {
    ctx.table->rope({.x = x.f32() + begin * row,
                     .rows = end - begin,
                     .heads = x.dim(1),
                     .head_dim = x.dim(2),
                     .positions = positions.data() + begin,
                     .cos_sin = table.cos_sin.data(),
                     .rotary_dim = table.rotary_dim,
                     .is_interleaved = table.style == RopeStyle::kInterleaved});
  });
}

}  // namespace quire::ops
