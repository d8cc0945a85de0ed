#include "kernels/attention.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/half.h"
#include "kernels/testing.h"

namespace quire::kernels {
namespace {

struct Case {
  KvType type = KvType::kF32;
  std::int64_t block_size = 16;
  std::int64_t head_dim = 24;
  std::int64_t value_dim = 24;
  std::int64_t rows = 1;
  std::int64_t heads = 3;
  std::int64_t first_end = 200;  // positions that row 0 sees
  std::int64_t window = 0;
  float softcap = 0.0F;
  std::int64_t skipped_rows = 0;  // of the queries, so that a row can be had alone
  bool in_pairs = false;          // by attend_pairs
  bool rounds_queries = false;    // before they are handed over
};

int BytesOfValue(KvType type) {
  if (type == KvType::kInt8) return 1;
  return type == KvType::kF32 ? 4 : 2;
}

// Elements of one head in one block.
std::int64_t HeadElements(const Case& c, std::int64_t dim) {
  return c.block_size * (c.type == KvType::kInt8 ? dim + kKvScaleBytes : dim);
}

// Two neighbouring heads' pages, written by the table's own kernel, the second head attended to.
class Attended {
 public:
  Attended(const CpuTable& table, const Case& c) : table_(table), case_(c) {
    const std::int64_t positions = c.first_end + c.rows - 1;
    const std::int64_t blocks = (positions + c.block_size - 1) / c.block_size + 1;
    const auto bytes = static_cast<std::size_t>(BytesOfValue(c.type));
    // What was not written is NaN in every type.
    const std::int64_t k_elements = HeadElements(c, c.head_dim);
    const std::int64_t v_elements = HeadElements(c, c.value_dim);
    k_.assign(static_cast<std::size_t>(2 * blocks * k_elements) * bytes, std::byte{0xFF});
    v_.assign(static_cast<std::size_t>(2 * blocks * v_elements) * bytes, std::byte{0xFF});
    for (std::int64_t b = 0; b < blocks; ++b) {
      block_table_.push_back(static_cast<std::int32_t>(blocks - 1 - b));
    }
    kv_ = {.k = k_.data() + k_elements * BytesOfValue(c.type),
           .v = v_.data() + v_elements * BytesOfValue(c.type),
           .k_block_stride = 2 * k_elements,
           .v_block_stride = 2 * v_elements,
           .block_size = c.block_size,
           .head_dim = c.head_dim,
           .value_dim = c.value_dim};
    Write(positions);
    Attend(positions);
  }

  std::vector<float> max;
  std::vector<float> sum;
  std::vector<float> out;
  const std::vector<std::byte>& k() const { return k_; }
  const std::vector<std::byte>& v() const { return v_; }
  // Element d of query vector (row, head) of the result.
  float Result(std::int64_t row, std::int64_t head, std::int64_t d) const {
    const auto query = static_cast<std::size_t>(row * case_.heads + head);
    const std::int64_t at = row * OutStride() + head * case_.value_dim + d;
    return out[static_cast<std::size_t>(at)] / sum[query];
  }

 private:
  void Write(std::int64_t positions) {
    std::vector<std::int32_t> slots;
    for (std::int64_t p = 0; p < positions; ++p) {
      const std::int32_t block = block_table_[static_cast<std::size_t>(p / case_.block_size)];
      slots.push_back(static_cast<std::int32_t>(block * case_.block_size + p % case_.block_size));
    }
    const std::int64_t k_stride = case_.head_dim + 1;
    const std::int64_t v_stride = case_.value_dim + 2;
    const auto k = RandomFloats(positions * k_stride, 1);
    const auto v = RandomFloats(positions * v_stride, 2);
    table_.write_kv[static_cast<int>(case_.type)]({.kv = kv_,
                                                   .k = k.data(),
                                                   .v = v.data(),
                                                   .k_stride = k_stride,
                                                   .v_stride = v_stride,
                                                   .rows = positions,
                                                   .slots = slots.data()});
  }

  std::int64_t OutStride() const { return case_.heads * case_.value_dim + 3; }

  void Attend(std::int64_t positions) {
    const std::int64_t q_stride = case_.heads * case_.head_dim + 5;
    const std::int64_t out_stride = OutStride();
    auto q = RandomFloats((case_.skipped_rows + case_.rows) * q_stride, 3, 2.0F);
    if (case_.rounds_queries) {
      for (float& value : q) value = ToFloat(ToBf16(value));
    }
    const auto queries = static_cast<std::size_t>(case_.rows * case_.heads);
    max.assign(queries, -std::numeric_limits<float>::infinity());
    sum.assign(queries, 0.0F);
    out.assign(static_cast<std::size_t>(case_.rows * out_stride), 0.0F);
    for (std::int64_t chunk = 0; chunk * kAttentionChunk < positions; ++chunk) {
      const NextPositions next = {kv_, block_table_.data(),
                                  std::min((chunk + 1) * kAttentionChunk, positions), positions};
      const AttendFn attend =
          case_.in_pairs ? table_.attend_pairs : table_.attend[static_cast<int>(case_.type)];
      attend({.kv = kv_,
              .block_table = block_table_.data(),
              .q = q.data() + case_.skipped_rows * q_stride,
              .q_stride = q_stride,
              .rows = case_.rows,
              .heads = case_.heads,
              .first_end = case_.first_end,
              .window = case_.window,
              .chunk = chunk,
              .scale = 0.3F,
              .softcap = case_.softcap,
              .max = max.data(),
              .sum = sum.data(),
              .out = out.data(),
              .out_stride = out_stride,
              .next = &next});
    }
  }

  const CpuTable& table_;
  Case case_;
  std::vector<std::byte> k_;
  std::vector<std::byte> v_;
  std::vector<std::int32_t> block_table_;
  KvHead kv_;
};

void ExpectSame(const Case& c) {
  const Attended got(TableUnderTest(), c);
  const Attended want(PortableTable(), c);
  EXPECT_EQ(got.k(), want.k());
  EXPECT_EQ(got.v(), want.v());
  EXPECT_TRUE(SameBits(got.max, want.max));
  EXPECT_TRUE(SameBits(got.sum, want.sum));
  EXPECT_TRUE(SameBits(got.out, want.out))
      << "block size " << c.block_size << ", head " << c.head_dim << ", " << c.rows << " rows of "
      << c.heads << " heads, first sees " << c.first_end << ", window " << c.window;
}

constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8};

TEST(AttendKernel, HasTheBitsOfPortableForEveryBlockSize) {
  for (const KvType type : kTypes) {
    for (const std::int64_t block_size : {1, 3, 8, 15, 16, 17, 32, 128, 200}) {
      ExpectSame({.type = type, .block_size = block_size, .rows = 3});
    }
  }
}

TEST(AttendKernel, HasTheBitsOfPortableForEveryHeadSize) {
  for (const KvType type : kTypes) {
    for (const std::int64_t dim : {1, 2, 7, 8, 9, 16, 31, 33, 64, 65, 80, 128, 130}) {
      ExpectSame({.type = type, .head_dim = dim, .value_dim = dim, .first_end = 150});
    }
  }
}

TEST(AttendKernel, HasTheBitsOfPortableForEveryTileOfQueries) {
  for (const KvType type : {KvType::kF32, KvType::kInt8}) {
    for (std::int64_t heads = 1; heads <= 9; ++heads) {
      for (std::int64_t rows = 1; rows * heads <= kMaxQueries; ++rows) {
        ExpectSame({.type = type, .rows = rows, .heads = heads, .first_end = 120});
      }
    }
  }
}

TEST(AttendKernel, HasTheBitsOfPortableForEveryContextAndWindow) {
  for (std::int64_t first_end = 1; first_end <= 140; first_end += first_end < 40 ? 1 : 9) {
    for (const std::int64_t window : {0, 1, 5, 100, 128, 131}) {
      for (const KvType type : {KvType::kBF16, KvType::kInt8}) {
        ExpectSame({.type = type,
                    .rows = 5,
                    .heads = 2,
                    .first_end = first_end,
                    .window = window,
                    .softcap = window == 5 ? 3.0F : 0.0F});
      }
    }
  }
}

// The first rows' windows end before the chunk that the last ones see, and the other way round.
TEST(AttendKernel, LeavesQueriesThatSeeNothingOfAChunk) {
  for (const std::int64_t window : {1, 2, 9}) {
    for (std::int64_t first_end = 110; first_end <= 130; ++first_end) {
      ExpectSame({.rows = 32, .heads = 1, .first_end = first_end, .window = window});
      ExpectSame({.rows = 10, .heads = 3, .first_end = first_end, .window = window});
    }
  }
}

// Values are within 1 here, so are their weighted means.
void ExpectNear(Case c) {
  c.type = KvType::kBF16;
  c.in_pairs = true;
  const Attended got(TableUnderTest(), c);
  c.in_pairs = false;
  c.rounds_queries = true;
  const Attended want(PortableTable(), c);
  for (std::int64_t r = 0; r < c.rows; ++r) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      for (std::int64_t d = 0; d < c.value_dim; ++d) {
        ASSERT_NEAR(got.Result(r, h, d), want.Result(r, h, d), 1.0 / 256 + 1.0 / 4096)
            << "block size " << c.block_size << ", head " << c.head_dim << ", row " << r << " of "
            << c.rows << ", first sees " << c.first_end << ", window " << c.window;
      }
    }
  }
}

TEST(AttendPairsKernel, StaysWithinItsBoundOfRoundedQueriesInFloat32) {
  if (TableUnderTest().attend_pairs == nullptr) GTEST_SKIP() << "no products of bf16 pairs";
  for (const std::int64_t block_size : {1, 3, 8, 15, 16, 17, 32, 128, 200}) {
    ExpectNear({.block_size = block_size, .rows = 3});
  }
  for (const std::int64_t dim : {2, 8, 16, 30, 34, 64, 66, 80, 128, 130, 256}) {
    ExpectNear({.head_dim = dim, .value_dim = dim, .first_end = 150});
    ExpectNear({.head_dim = dim, .value_dim = dim - 1, .first_end = 150, .softcap = 3.0F});
  }
  for (const std::int64_t window : {0, 1, 2, 5, 100, 128, 131}) {
    for (std::int64_t first_end = 1; first_end <= 140; ++first_end) {
      ExpectNear({.rows = 5, .heads = 2, .first_end = first_end, .window = window});
    }
  }
}

TEST(AttendPairsKernel, HasTheBitsOfEveryRowAlone) {
  if (TableUnderTest().attend_pairs == nullptr) GTEST_SKIP() << "no products of bf16 pairs";
  for (std::int64_t heads = 1; heads <= 9; ++heads) {
    for (std::int64_t rows = 1; rows * heads <= kMaxQueries; ++rows) {
      const std::int64_t window = rows % 3 == 0 ? 7 + rows : 0;
      Case c = {.type = KvType::kBF16,
                .rows = rows,
                .heads = heads,
                .first_end = 115,
                .window = window,
                .in_pairs = true};
      const Attended together(TableUnderTest(), c);
      c.rows = 1;
      for (std::int64_t r = 0; r < rows; ++r, ++c.first_end, ++c.skipped_rows) {
        const Attended alone(TableUnderTest(), c);
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t d = 0; d < c.value_dim; ++d) {
            ASSERT_TRUE(SameBits(together.Result(r, h, d), alone.Result(0, h, d)))
                << "row " << r << " of " << rows << ", " << heads << " heads";
          }
        }
      }
    }
  }
}

// Activations of a model trained in bfloat16 may be larger than any half.
TEST(WriteKvKernel, StoresTheLargestHalfForWhatIsTooLargeForOne) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {65504.0F, 65519.0F,  65520.0F,  1e30F, INFINITY,
                                     -1e30F,   -INFINITY, -65504.0F, 1.5F,  kNan};
  const std::vector<std::uint16_t> wanted = {0x7BFF, 0x7BFF, 0x7BFF, 0x7BFF, 0x7BFF,
                                             0xFBFF, 0xFBFF, 0xFBFF, 0x3E00, 0x7E00};
  const auto dim = static_cast<std::int64_t>(values.size());
  constexpr std::int64_t kBlock = 4;
  std::vector<std::uint16_t> k(values.size() * kBlock);
  std::vector<std::uint16_t> v(values.size() * kBlock);
  const std::int32_t slot = 2;
  TableUnderTest().write_kv[static_cast<int>(KvType::kF16)](
      {.kv = {.k = reinterpret_cast<std::byte*>(k.data()),
              .v = reinterpret_cast<std::byte*>(v.data()),
              .k_block_stride = dim * kBlock,
              .v_block_stride = dim * kBlock,
              .block_size = kBlock,
              .head_dim = dim,
              .value_dim = dim},
       .k = values.data(),
       .v = values.data(),
       .k_stride = dim,
       .v_stride = dim,
       .rows = 1,
       .slots = &slot});
  for (std::size_t d = 0; d < values.size(); ++d) {
    EXPECT_EQ(k[d * kBlock + 2], wanted[d]) << values[d];
    EXPECT_EQ(v[2 * values.size() + d], wanted[d]) << values[d];
  }
}

// One vector of kind `kind`, hard to quantize.
std::vector<float> HardVector(int kind, std::int64_t dim) {
  std::vector<float> x = RandomFloats(dim, static_cast<std::uint64_t>(kind));
  const auto last = static_cast<std::size_t>(dim - 1);
  const auto fill = [&](float value) { std::fill(x.begin(), x.end(), value); };
  if (kind == 0) x[last / 2] = 1e4F;
  if (kind == 1) fill(0.0F);
  if (kind == 2) fill(-1e-40F);
  if (kind == 3) fill(0.7F);
  if (kind == 4) x[last] = std::numeric_limits<float>::quiet_NaN();
  if (kind == 5) x[0] = -INFINITY;
  if (kind == 6) x[last] = -std::numeric_limits<float>::max();
  if (kind == 7) fill(1e-30F);
  if (kind == 8) fill(-9.9e-31F);
  if (kind == 9) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 255) - 127.0F + 0.5F;
  }
  return x;
}
constexpr int kHardVectors = 20;  // those from 10 on are random; more than any register has lanes

// All hard vectors as the keys and values of neighbouring slots.
struct HardPages {
  HardPages(const CpuTable& table, std::int64_t head_dim) : dim(head_dim) {
    std::vector<float> rows;
    std::vector<std::int32_t> slots;
    for (int i = 0; i < kHardVectors; ++i) {
      const auto x = HardVector(i, dim);
      rows.insert(rows.end(), x.begin(), x.end());
      slots.push_back(i + 3);
    }
    const auto elements = static_cast<std::size_t>(kBlock * (dim + kKvScaleBytes));
    k.assign(elements, 0x55);
    v.assign(elements, 0x55);
    table.write_kv[static_cast<int>(KvType::kInt8)](
        {.kv = {.k = reinterpret_cast<std::byte*>(k.data()),
                .v = reinterpret_cast<std::byte*>(v.data()),
                .k_block_stride = static_cast<std::int64_t>(elements),
                .v_block_stride = static_cast<std::int64_t>(elements),
                .block_size = kBlock,
                .head_dim = dim,
                .value_dim = dim},
         .k = rows.data(),
         .v = rows.data(),
         .k_stride = dim,
         .v_stride = dim,
         .rows = kHardVectors,
         .slots = slots.data()});
  }
  static float ScaleIn(const std::vector<std::int8_t>& page, std::int64_t head_dim, int i) {
    float scale;
    std::memcpy(&scale, page.data() + kBlock * head_dim + (i + 3) * kKvScaleBytes, sizeof scale);
    return scale;
  }
  int KeyCode(int i, std::int64_t d) const {
    return k[static_cast<std::size_t>(d * kBlock + i + 3)];
  }
  int ValueCode(int i, std::int64_t d) const {
    return v[static_cast<std::size_t>((i + 3) * dim + d)];
  }

  static constexpr std::int64_t kBlock = 32;
  std::int64_t dim;
  std::vector<std::int8_t> k;
  std::vector<std::int8_t> v;
};

TEST(WriteKvInt8Kernel, StaysWithinItsBoundOnHardVectors) {
  for (const std::int64_t dim : {1, 7, 16, 64, 80, 130}) {
    const HardPages pages(TableUnderTest(), dim);
    for (int i = 0; i < kHardVectors; ++i) {
      const auto x = HardVector(i, dim);
      const float scale = HardPages::ScaleIn(pages.k, dim, i);
      EXPECT_TRUE(SameBits(scale, HardPages::ScaleIn(pages.v, dim, i)));
      double max = 0.0;
      for (const float value : x) max = std::max(max, std::fabs(double{value}));
      const double bound = std::max(max / 254.0 * (1.0 + 1.0 / 16384.0), 1e-30);
      for (std::int64_t d = 0; d < dim; ++d) {
        EXPECT_EQ(pages.KeyCode(i, d), pages.ValueCode(i, d));
        if (i == 4 || i == 5) {
          EXPECT_TRUE(std::isnan(scale));
          EXPECT_EQ(pages.KeyCode(i, d), 0);
        } else {
          const double stored = double{scale} * pages.KeyCode(i, d);
          EXPECT_LE(std::fabs(stored - double{x[static_cast<std::size_t>(d)]}), bound)
              << "vector " << i << ", dimension " << d << " of " << dim;
        }
      }
    }
  }
}

TEST(WriteKvInt8Kernel, HasTheBitsOfPortableForHardVectors) {
  for (std::int64_t dim = 1; dim <= 70; ++dim) {
    const HardPages got(TableUnderTest(), dim);
    const HardPages want(PortableTable(), dim);
    for (int i = 0; i < kHardVectors; ++i) {
      EXPECT_TRUE(SameBits(HardPages::ScaleIn(got.k, dim, i), HardPages::ScaleIn(want.k, dim, i)));
      EXPECT_TRUE(SameBits(HardPages::ScaleIn(got.v, dim, i), HardPages::ScaleIn(want.v, dim, i)));
      for (std::int64_t d = 0; d < dim; ++d) {
        ASSERT_EQ(got.KeyCode(i, d), want.KeyCode(i, d)) << i << " " << d << " " << dim;
        ASSERT_EQ(got.ValueCode(i, d), want.ValueCode(i, d)) << i << " " << d << " " << dim;
      }
    }
  }
}

TEST(MergeAttentionKernel, HasTheBitsOfPortable) {
  for (std::int64_t dim = 1; dim <= 40; ++dim) {
    std::vector<float> outs[2];
    float maxima[2];
    float sums[2];
    const CpuTable* tables[2] = {&TableUnderTest(), &PortableTable()};
    for (int t = 0; t < 2; ++t) {
      outs[t] = RandomFloats(dim, 1);
      auto part = RandomFloats(dim, 2);
      float part_max = static_cast<float>(dim % 5) - 2.0F;
      float part_sum = 1.5F;
      maxima[t] = 0.3F;
      sums[t] = 2.5F;
      tables[t]->merge_attention({&maxima[t], &sums[t], outs[t].data()},
                                 {&part_max, &part_sum, part.data()}, dim);
    }
    EXPECT_TRUE(SameBits(outs[0], outs[1]));
    EXPECT_EQ(maxima[0], maxima[1]);
    EXPECT_EQ(sums[0], sums[1]);
  }
}

}  // namespace
}  // namespace quire::kernels
