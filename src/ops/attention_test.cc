#include "ops/attention.h"

#include <cmath>
#include <functional>
#include <span>

#include <gtest/gtest.h>

#include "ops/testing.h"

namespace quire::ops {
namespace {

using kernels::RandomFloats;
using kernels::SameBits;

// Requests over a cache whose blocks are dealt out in a scattered order.
struct Problem {
  std::int64_t num_heads = 6;
  std::int64_t num_kv_heads = 2;
  std::int64_t head_dim = 20;
  std::int64_t value_dim = 20;
  std::int64_t block_size = 16;
  DType dtype = DType::kF32;
  std::vector<std::int32_t> new_tokens = {1};
  std::vector<std::int32_t> context_lens = {1};
  AttentionOptions options = {.scale = 0.25F};
  // Makes random keys or values, vectors of `dim`, what a test wants.
  std::function<void(std::span<float> x, std::size_t dim)> adjust = nullptr;
};

class Cache {
 public:
  Cache(TestContext& test, const Problem& problem) : problem_(problem) {
    const std::int64_t longest =
        *std::max_element(problem.context_lens.begin(), problem.context_lens.end());
    max_blocks_ = (longest + problem.block_size - 1) / problem.block_size;
    const auto num_requests = static_cast<std::int64_t>(problem.context_lens.size());
    const std::int64_t num_blocks = 1 + num_requests * max_blocks_;
    for (std::int64_t i = 0; i < num_requests * max_blocks_; ++i) {
      table_.push_back(static_cast<std::int32_t>(num_blocks - 1 - i));
    }
    const Shape k_shape = {num_blocks, problem.num_kv_heads, problem.block_size, problem.head_dim};
    const Shape v_shape = {num_blocks, problem.num_kv_heads, problem.block_size, problem.value_dim};
    k_bytes_ = *Buffer::Allocate(KvPageBytes(problem.dtype, k_shape));
    v_bytes_ = *Buffer::Allocate(KvPageBytes(problem.dtype, v_shape));
    // What nobody wrote must not matter.
    std::memset(k_bytes_.data(), 0xFF, k_bytes_.size());
    std::memset(v_bytes_.data(), 0xFF, v_bytes_.size());
    pages_ = {{k_bytes_.data(), problem.dtype, k_shape}, {v_bytes_.data(), problem.dtype, v_shape}};
    for (std::int64_t i = 0; i < num_requests; ++i) Fill(test, i);
  }

  // Keys and values of a request depend on its number and the position alone.
  std::vector<float> KeysOf(std::int64_t request) const {
    return VectorsOf(request, problem_.head_dim, static_cast<std::uint64_t>(100 + request));
  }
  std::vector<float> ValuesOf(std::int64_t request) const {
    return VectorsOf(request, problem_.value_dim, static_cast<std::uint64_t>(200 + request));
  }
  const KvPages& pages() const { return pages_; }
  std::span<const std::int32_t> table() const { return table_; }
  std::int32_t max_blocks() const { return static_cast<std::int32_t>(max_blocks_); }

 private:
  std::vector<float> VectorsOf(std::int64_t request, std::int64_t dim, std::uint64_t seed) const {
    auto x = RandomFloats(
        problem_.context_lens[static_cast<std::size_t>(request)] * problem_.num_kv_heads * dim,
        seed);
    if (problem_.adjust) problem_.adjust(x, static_cast<std::size_t>(dim));
    return x;
  }

  void Fill(TestContext& test, std::int64_t request) {
    std::vector<std::int32_t> slots;
    for (std::int64_t p = 0; p < problem_.context_lens[static_cast<std::size_t>(request)]; ++p) {
      const auto at = static_cast<std::size_t>(request * max_blocks_ + p / problem_.block_size);
      slots.push_back(
          static_cast<std::int32_t>(table_[at] * problem_.block_size + p % problem_.block_size));
    }
    const auto k = KeysOf(request);
    const auto v = ValuesOf(request);
    const auto rows = static_cast<std::int64_t>(slots.size());
    WriteKv(test.ctx, F32View(k.data(), {rows, problem_.num_kv_heads, problem_.head_dim}),
            F32View(v.data(), {rows, problem_.num_kv_heads, problem_.value_dim}), slots, pages_);
  }

  Problem problem_;
  std::int64_t max_blocks_ = 0;
  std::vector<std::int32_t> table_;
  Buffer k_bytes_;
  Buffer v_bytes_;
  KvPages pages_;
};

// Queries of a request's last rows, which depend on its number and position alone.
std::vector<float> QueriesOf(const Problem& problem) {
  const std::int64_t row = problem.num_heads * problem.head_dim;
  std::vector<float> q;
  for (std::size_t i = 0; i < problem.new_tokens.size(); ++i) {
    const auto all = RandomFloats(problem.context_lens[i] * row, 300 + i, 3.0F);
    q.insert(q.end(), all.end() - problem.new_tokens[i] * row, all.end());
  }
  return q;
}

std::vector<float> Attend(TestContext& test, const Problem& problem, const Cache& cache) {
  std::vector<std::int32_t> q_start = {0};
  for (const std::int32_t rows : problem.new_tokens) q_start.push_back(q_start.back() + rows);
  const std::int64_t rows = q_start.back();
  const auto q = QueriesOf(problem);
  std::vector<float> out(static_cast<std::size_t>(rows * problem.num_heads * problem.value_dim));
  const AttentionBatch batch = {.q_start = q_start,
                                .context_lens = problem.context_lens,
                                .block_table = cache.table(),
                                .max_blocks = cache.max_blocks(),
                                .slots = {}};
  PagedAttention(test.ctx, F32View(q.data(), {rows, problem.num_heads, problem.head_dim}),
                 cache.pages(), batch, problem.options,
                 F32View(out.data(), {rows, problem.num_heads, problem.value_dim}));
  return out;
}

// The same in double precision, from the contract's formula.
std::vector<float> Reference(const Problem& problem, const Cache& cache) {
  std::vector<float> out;
  const auto q = QueriesOf(problem);
  std::int64_t row = 0;
  for (std::size_t i = 0; i < problem.new_tokens.size(); ++i) {
    const auto k = cache.KeysOf(static_cast<std::int64_t>(i));
    const auto v = cache.ValuesOf(static_cast<std::int64_t>(i));
    for (std::int32_t t = 0; t < problem.new_tokens[i]; ++t, ++row) {
      const std::int64_t end = problem.context_lens[i] - problem.new_tokens[i] + t + 1;
      const std::int64_t begin =
          problem.options.window > 0 ? std::max<std::int64_t>(0, end - problem.options.window) : 0;
      for (std::int64_t h = 0; h < problem.num_heads; ++h) {
        const std::int64_t kv = h / (problem.num_heads / problem.num_kv_heads);
        std::vector<double> weights;
        double max = -1e300;
        for (std::int64_t j = begin; j < end; ++j) {
          double dot = 0.0;
          for (std::int64_t d = 0; d < problem.head_dim; ++d) {
            dot +=
                double{q[static_cast<std::size_t>((row * problem.num_heads + h) * problem.head_dim +
                                                  d)]} *
                k[static_cast<std::size_t>((j * problem.num_kv_heads + kv) * problem.head_dim + d)];
          }
          dot *= problem.options.scale;
          const double cap = problem.options.softcap;
          weights.push_back(cap > 0 ? cap * std::tanh(dot / cap) : dot);
          max = std::max(max, weights.back());
        }
        double sum = 0.0;
        if (!problem.options.sinks.empty()) {
          sum = std::exp(problem.options.sinks[static_cast<std::size_t>(h)] - max);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - max);
        for (std::int64_t d = 0; d < problem.value_dim; ++d) {
          double value = 0.0;
          for (std::int64_t j = begin; j < end; ++j) {
            value += weights[static_cast<std::size_t>(j - begin)] *
                     v[static_cast<std::size_t>(
                         (j * problem.num_kv_heads + kv) * problem.value_dim + d)];
          }
          out.push_back(static_cast<float>(value / sum));
        }
      }
    }
  }
  return out;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(double{a[i]} - b[i]);
    worst = std::isnan(difference) ? 1e30 : std::max(worst, difference);
  }
  return worst;
}

double BoundOf(DType type) {
  if (type == DType::kF32) return 1e-5;
  if (type == DType::kI8) return 6e-2;
  return type == DType::kF16 ? 4e-3 : 3e-2;
}

void ExpectRight(const Problem& problem) {
  for (const int num_threads : {1, 2}) {
    TestContext test(num_threads);
    const Cache cache(test, problem);
    EXPECT_LT(LargestDifference(Attend(test, problem, cache), Reference(problem, cache)),
              BoundOf(problem.dtype))
        << ToString(problem.dtype) << " block " << problem.block_size;
  }
}

TEST(PagedAttention, IsSoftmaxOfScoresTimesValues) {
  for (const std::int64_t block_size : {1, 5, 16, 32, 48}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
      ExpectRight({.block_size = block_size,
                   .dtype = dtype,
                   .new_tokens = {1, 9, 40, 2},
                   .context_lens = {300, 9, 131, 129}});
    }
  }
}

TEST(PagedAttention, TakesHeadsOfAnySizeAndGrouping) {
  for (const std::int64_t head_dim : {1, 8, 64, 80, 128}) {
    ExpectRight({.head_dim = head_dim,
                 .value_dim = head_dim + 3,
                 .new_tokens = {3, 1},
                 .context_lens = {20, 140}});
  }
  ExpectRight({.num_heads = 71, .num_kv_heads = 1, .new_tokens = {2}, .context_lens = {140}});
  ExpectRight({.num_heads = 4, .num_kv_heads = 4, .new_tokens = {70}, .context_lens = {140}});
}

TEST(PagedAttention, ObeysWindowCapAndSinks) {
  for (const std::int32_t window : {1, 7, 128, 200}) {
    ExpectRight({.new_tokens = {1, 50, 3},
                 .context_lens = {300, 150, 3},
                 .options = {.scale = 0.25F, .window = window}});
  }
  const std::vector<float> sinks = {0.5F, -3.0F, 2.0F, 0.0F, 1.0F, 9.0F};
  ExpectRight({.new_tokens = {1, 5},
               .context_lens = {200, 5},
               .options = {.scale = 0.25F, .softcap = 2.0F, .sinks = sinks}});
}

TEST(PagedAttention, GivesARowTheSameBitsAloneInChunksAndAmongOthers) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
    const Problem all = {.dtype = dtype, .new_tokens = {290, 1, 17}, .context_lens = {290, 77, 40}};
    TestContext one(1);
    const Cache cache(one, all);
    const auto want = Attend(one, all, cache);
    const std::int64_t row = all.num_heads * all.value_dim;
    for (const int num_threads : {1, 2, 3}) {
      TestContext test(num_threads);
      EXPECT_TRUE(SameBits(Attend(test, all, cache), want));
      for (const std::int32_t size : {1, 7, 16, 100}) {
        for (std::int32_t end = size; end <= 290; end += size) {
          Problem part = all;
          part.new_tokens = {size};
          part.context_lens = {end};
          // The queries of positions [end - size, end) of the whole.
          const Problem whole = {.dtype = dtype, .new_tokens = {290}, .context_lens = {290}};
          auto q = QueriesOf(whole);
          const std::int64_t q_row = all.num_heads * all.head_dim;
          std::vector<float> out(static_cast<std::size_t>(size * row));
          const std::vector<std::int32_t> q_start = {0, size};
          const AttentionBatch batch = {.q_start = q_start,
                                        .context_lens = part.context_lens,
                                        .block_table = cache.table(),
                                        .max_blocks = cache.max_blocks(),
                                        .slots = {}};
          PagedAttention(
              test.ctx,
              F32View(q.data() + (end - size) * q_row, {size, all.num_heads, all.head_dim}),
              cache.pages(), batch, all.options,
              F32View(out.data(), {size, all.num_heads, all.value_dim}));
          const std::vector<float> expected(want.begin() + (end - size) * row,
                                            want.begin() + end * row);
          ASSERT_TRUE(SameBits(out, expected)) << num_threads << " " << size << " " << end;
          if (size == 1 && end > 40) end += 30;
        }
      }
    }
  }
}

void ExpectNanStays(DType dtype) {
  const Problem problem = {.dtype = dtype, .new_tokens = {1, 1}, .context_lens = {20, 20}};
  TestContext test;
  const Cache cache(test, problem);
  const auto clean = Attend(test, problem, cache);
  // Position 19 of request 1 becomes NaN.
  const std::int64_t k_row = problem.num_kv_heads * problem.head_dim;
  const std::vector<float> nan(static_cast<std::size_t>(k_row),
                               std::numeric_limits<float>::quiet_NaN());
  const auto block = cache.table()[static_cast<std::size_t>(cache.max_blocks() + 1)];
  const std::vector<std::int32_t> slots = {block * 16 + 3};
  const auto view = F32View(nan.data(), {1, problem.num_kv_heads, problem.head_dim});
  WriteKv(test.ctx, view, view, slots, cache.pages());
  const auto out = Attend(test, problem, cache);
  const auto half = static_cast<std::ptrdiff_t>(out.size() / 2);
  EXPECT_TRUE(SameBits(std::vector<float>(out.begin(), out.begin() + half),
                       std::vector<float>(clean.begin(), clean.begin() + half)));
  EXPECT_TRUE(std::isnan(out.back()));
}

// Attention over int8 pages is that over what the pages hold, whatever was written.
TEST(PagedAttention, OverInt8PagesIsThatOverRoundedVectors) {
  const auto round_vectors = [](std::span<float> x, std::size_t dim) {
    for (; !x.empty(); x = x.subspan(dim)) {
      float max = 0.0F;
      for (const float value : x.first(dim)) max = std::max(max, std::fabs(value));
      for (float& value : x.first(dim)) {
        value = max < 1e-30F ? 0.0F : max / 127.0F * std::nearbyint(value * (127.0F / max));
      }
    }
  };
  // Each vector by its turn: an outlier, zeros, denormals, equal values, or as it was.
  const auto make_hard = [](std::span<float> x, std::size_t dim) {
    for (std::size_t turn = 0; !x.empty(); x = x.subspan(dim), ++turn) {
      if (turn % 5 == 0) x[turn % dim] = 1e4F;
      if (turn % 5 == 1) std::fill_n(x.begin(), dim, 0.0F);
      if (turn % 5 == 2) std::fill_n(x.begin(), dim, 1e-40F);
      if (turn % 5 == 3) std::fill_n(x.begin(), dim, -0.6F);
    }
  };
  Problem problem = {.dtype = DType::kI8,
                     .new_tokens = {1, 30},
                     .context_lens = {300, 140},
                     .options = {.scale = 0.01F, .softcap = 5.0F},
                     .adjust = make_hard};
  TestContext test(2);
  const auto got = Attend(test, problem, Cache(test, problem));
  problem.dtype = DType::kF32;
  problem.adjust = [&](std::span<float> x, std::size_t dim) {
    make_hard(x, dim);
    round_vectors(x, dim);
  };
  const auto want = Reference(problem, Cache(test, problem));
  double largest = 0.0;
  for (const float value : want) largest = std::max(largest, std::fabs(double{value}));
  EXPECT_LT(LargestDifference(got, want), 2e-5 * largest);
}

TEST(PagedAttention, KeepsNanInItsOwnRequest) {
  for (const DType dtype : {DType::kF32, DType::kI8}) ExpectNanStays(dtype);
}

}  // namespace
}  // namespace quire::ops
