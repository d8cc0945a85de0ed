// Products in which neighbouring rows share a weight and other rows have another: the experts of a
// mixture, the adapters of a batch.
#pragma once

#include <cstdint>
#include <span>

#include "ops/context.h"
#include "ops/linear.h"
#include "tensor/tensor.h"

namespace quire::ops {

// One product of each group; several jobs share their input, as gate and up do.
struct GroupedJob {
  // [num_groups], all of one shape; types may differ. Null: the group's rows of `out` stay as they
  // are.
  std::span<const LinearWeight* const> weights;
  TensorView out;             // [rows, out_features] f32, may not overlap x
  ConstTensorView bias = {};  // [num_groups, out_features] f32, or empty
  bool accumulate = false;    // out += x w^T instead of out = x w^T
};

// For each job and each group g:
//   out[r] = x[r] weights[g]^T (+ bias[g]) for the rows r of [starts[g], starts[g + 1]).
// x is [rows, in_features] f32, sorted by group; `starts` [num_groups + 1] rises from 0 to rows,
// and a group may be empty. A row has the bits that Linear gives it with its group's weight alone,
// however rows are grouped and many threads run it. Threads share the work evenly where one group
// has most rows as well as where many have one. Allocates nothing once it is warm.
void GroupedLinear(OpContext& ctx, ConstTensorView x, std::span<const std::int32_t> starts,
                   std::span<const GroupedJob> jobs);

}  // namespace quire::ops
