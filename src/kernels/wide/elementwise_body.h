// Activations, rotary embedding and reductions over logits, over an ISA's lanes.h and
// wide/exp_body.h.
#pragma once

#include "kernels/activation.h"
#include "kernels/rope.h"
#include "kernels/softmax.h"
#include "kernels/wide/exp_body.h"
#include "kernels/wide/parts.h"

namespace quire::kernels {
namespace {

struct Silu {
  QUIRE_INLINE static Floats Of(Floats x) {
    return Divide(x, Add(Set(1.0F), Exp(Subtract(Set(-0.0F), x))));
  }
};

struct GeluTanh {
  QUIRE_INLINE static Floats Of(Floats x) {
    const Floats u = Fused(Multiply(Set(kGeluCubic), Multiply(x, x)), x, x);
    return Divide(x, Add(Set(1.0F), Exp(Multiply(u, Set(kMinusTwoRootTwoOverPi)))));
  }
};

struct Relu {
  QUIRE_INLINE static Floats Of(Floats x) { return Larger(x, Zero()); }
};

struct Relu2 {
  QUIRE_INLINE static Floats Of(Floats x) { return Multiply(Relu::Of(x), Relu::Of(x)); }
};

template <typename Function>
void Activate(const float* x, const float* up, float* out, std::int64_t n) {
  ForParts(n, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    const Floats y = Function::Of(Load(x + i, mask));
    Store(out + i, up != nullptr ? Multiply(y, Load(up + i, mask)) : y, mask);
  });
}

void AddValues(const float* a, const float* b, float* out, std::int64_t n) {
  ForParts(n, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    Store(out + i, Add(Load(a + i, mask), Load(b + i, mask)), mask);
  });
}

void ScaleValues(const float* x, float factor, float* out, std::int64_t n) {
  ForParts(n, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    Store(out + i, Multiply(Load(x + i, mask), Set(factor)), mask);
  });
}

QUIRE_INLINE void TurnHalves(float* x, const float* cosines, std::int64_t pairs) {
  ForParts(pairs, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    const Floats a = Load(x + i, mask);
    const Floats b = Load(x + pairs + i, mask);
    const Floats c = Load(cosines + i, mask);
    const Floats s = Load(cosines + pairs + i, mask);
    Store(x + i, Fused(a, c, Subtract(Set(-0.0F), Multiply(b, s))), mask);
    Store(x + pairs + i, Fused(b, c, Multiply(a, s)), mask);
  });
}

// Pairs (2i, 2i + 1): b * s with its sign changed on even lanes and a * s on odd ones are the
// neighbours times the sine.
QUIRE_INLINE void TurnNeighbours(float* x, const float* cosines, std::int64_t pairs) {
  const float* sines = cosines + pairs;
  std::int64_t i = 0;
  for (; i + kWidth / 2 <= pairs; i += kWidth / 2) {
    const Floats both = Load(x + 2 * i);
    const Floats crossed = Multiply(SwapNeighbours(both), LoadTwice(sines + i));
    Store(x + 2 * i, Fused(both, LoadTwice(cosines + i), NegateEven(crossed)));
  }
  for (; i < pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = __builtin_fmaf(a, cosines[i], -(b * sines[i]));
    x[2 * i + 1] = __builtin_fmaf(b, cosines[i], a * sines[i]);
  }
}

void Rope(const RopeArgs& args) {
  const std::int64_t pairs = args.rotary_dim / 2;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const float* cosines = args.cos_sin + args.positions[r] * args.rotary_dim;
    for (std::int64_t h = 0; h < args.heads; ++h) {
      float* x = args.x + (r * args.heads + h) * args.head_dim;
      if (args.is_interleaved) {
        TurnNeighbours(x, cosines, pairs);
      } else {
        TurnHalves(x, cosines, pairs);
      }
    }
  }
}

// One pass for the largest value, one for where it first stands.
std::int64_t ArgMax(const float* row, std::int64_t n) {
  Floats largest = Set(-__builtin_inff());
  ForParts(n, [&](int, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    largest = Larger(Select(mask, Load(row + i, mask), largest), largest);
  });
  const Floats target = Set(LargestLane(largest));
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const Mask mask = First(n - i);
    // A lane past the end must not pass for a zero of the row.
    const Floats x = Select(mask, Load(row + i, mask), Set(__builtin_nanf("")));
    const int at = FirstSet(IsEqual(x, target));
    if (at >= 0) return i + at;
  }
  return 0;  // all are NaN
}

float SumExp(const float* row, float max, float* out, std::int64_t n) {
  Floats lanes[kParts] = {};
  ForParts(n, [&](int part, std::int64_t i, auto mask) QUIRE_INLINE_LAMBDA {
    const Floats e = Select(mask, Exp(Subtract(Load(row + i, mask), Set(max))), Zero());
    lanes[part] = Add(lanes[part], e);
    if (out != nullptr) Store(out + i, e, mask);
  });
  return FoldHalves(lanes);
}

}  // namespace
}  // namespace quire::kernels
