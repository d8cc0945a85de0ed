// A ready OpContext for the tests of operators, and of folders above.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/testing.h"
#include "ops/context.h"

namespace quire::ops {

// Owns what a context borrows; the table is that of the ISA under test.
struct TestContext {
  explicit TestContext(int num_threads = 1) : pool({.num_threads = num_threads, .pin = false}) {}
  ThreadPool pool;
  Scratch scratch;
  OpContext ctx = {&kernels::TableUnderTest(), &pool, &scratch};
};

}  // namespace quire::ops
