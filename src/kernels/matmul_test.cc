#include "kernels/matmul.h"

#include <cmath>

#include "kernels/testing.h"

namespace quire::kernels {
namespace {

// Rows quantized by one table's kernel, as one panel.
struct Panel {
  Panel(const CpuTable& table, const std::vector<float>& x, std::int64_t num_rows,
        std::int64_t num_blocks)
      : rows(num_rows),
        codes(static_cast<std::size_t>(num_rows * num_blocks * kQuantValues)),
        scales(static_cast<std::size_t>(num_rows * num_blocks)),
        negative_sums(3 * scales.size()),
        scaled_sums(3 * scales.size()),
        parts(2 * scales.size()) {
    table.quantize({.x = x.data(),
                    .x_stride = num_blocks * kQuantValues,
                    .rows = rows,
                    .blocks = num_blocks,
                    .panel_rows = rows,
                    .out = view(),
                    .first_row = 0});
  }
  QuantPanel view() {
    return {codes.data(), scales.data(), negative_sums.data(), scaled_sums.data(), parts.data()};
  }

  std::int64_t rows;
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<std::int32_t> negative_sums;
  std::vector<float> scaled_sums;
  std::vector<std::int32_t> parts;
};

std::vector<std::byte> Pack(const CpuTable& table, DType type, const std::vector<std::byte>& rows,
                            std::int64_t outputs, std::int64_t type_blocks) {
  const QuantKernel& kernel = table.quant[static_cast<int>(type)];
  if (kernel.pack == nullptr) return rows;
  const std::int64_t tiles = (outputs + kernel.tile_outputs - 1) / kernel.tile_outputs;
  const std::int64_t tile_bytes = type_blocks * kernel.tile_block_bytes;
  const std::int64_t row_bytes = type_blocks * LayoutOf(type).block_bytes;
  // Garbage, which packing must overwrite wherever the kernel reads.
  std::vector<std::byte> packed(static_cast<std::size_t>(tiles * tile_bytes), std::byte{0xFF});
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t first = t * kernel.tile_outputs;
    kernel.pack({.rows = rows.data() + first * row_bytes,
                 .row_bytes = row_bytes,
                 .outputs = std::min<std::int64_t>(kernel.tile_outputs, outputs - first),
                 .blocks = type_blocks,
                 .tile = packed.data() + t * tile_bytes});
  }
  return packed;
}

struct QuantCase {
  std::int64_t rows;
  std::int64_t type_blocks;
  std::int64_t outputs;
  bool has_bias = false;
  bool accumulate = false;
  float x_scale = 1.0F;
  bool has_bad_rows =
      false;  // every third from row 1 has a NaN, every third from row 2 an infinity
};

std::vector<float> Multiply(const CpuTable& table, DType type, const QuantCase& c) {
  const std::int64_t blocks = c.type_blocks * LayoutOf(type).block_values / kQuantValues;
  auto x = RandomFloats(c.rows * blocks * kQuantValues, 1, c.x_scale);
  for (std::int64_t r = 0; c.has_bad_rows && r < c.rows; ++r) {
    float& value = x[static_cast<std::size_t>(r * blocks * kQuantValues + r % kQuantValues)];
    if (r % 3 == 1) value = std::numeric_limits<float>::quiet_NaN();
    if (r % 3 == 2) value = -std::numeric_limits<float>::infinity();
  }
  Panel panel(table, x, c.rows, blocks);
  const auto weights = RandomBlocks(type, c.outputs * c.type_blocks, 2);
  const auto tiles = Pack(table, type, weights, c.outputs, c.type_blocks);
  const auto bias = RandomFloats(c.outputs, 3);
  const std::int64_t stride = c.outputs + 3;
  auto out = RandomFloats(c.rows * stride, 4);
  table.quant[static_cast<int>(type)].matmul({.x = panel.view(),
                                              .rows = c.rows,
                                              .blocks = blocks,
                                              .tiles = tiles.data(),
                                              .outputs = c.outputs,
                                              .out = out.data(),
                                              .out_stride = stride,
                                              .bias = c.has_bias ? bias.data() : nullptr,
                                              .accumulate = c.accumulate});
  return out;
}

// The table under test under each rule that it has, and portable under the same.
struct TablePair {
  CpuTable tested;
  CpuTable portable;
};
const std::vector<TablePair>& TablePairs() {
  static const auto& pairs = *[] {
    auto* all = new std::vector<TablePair>;
    for (const ScaleRule rule : {ScaleRule::kExact, ScaleRule::kTwoPowers}) {
      if (!HasScaleRule(IsaUnderTest(), rule)) continue;
      all->push_back({MakeTable(IsaUnderTest(), rule), MakeTable(CpuIsa::kPortable, rule)});
    }
    return all;
  }();
  return pairs;
}

void ExpectSame(DType type, const QuantCase& c) {
  for (const TablePair& tables : TablePairs()) {
    EXPECT_TRUE(SameBits(Multiply(tables.tested, type, c), Multiply(tables.portable, type, c)))
        << ToString(type) << ": " << c.rows << " rows, " << c.type_blocks << " blocks, "
        << c.outputs << " outputs";
  }
}

// Outputs that go past the caches, and such as do not for one reason each.
TEST(MatmulQuant, HasTheBitsOfPortableForRowsFarApart) {
  constexpr std::int64_t kBlocks = 3, kFar = 16384;
  struct Place {
    std::int64_t rows, outputs, stride, offset;
  };
  const Place places[] = {{2, 48, kFar, 0},  {7, 16, kFar, 0},     {7, 48, kFar, 0},
                          {16, 48, kFar, 0}, {7, 24, kFar, 0},     {7, 48, kFar + 8, 0},
                          {7, 48, kFar, 1},  {9, 48, kFar / 2, 0}, {64, 24, 1024, 0}};
  const TablePair& pair = TablePairs().front();
  for (const DType type : {DType::kQ4_0, DType::kQ8_0}) {
    for (const Place& place : places) {
      const auto x = RandomFloats(place.rows * kBlocks * kQuantValues, 1);
      const auto weights = RandomBlocks(type, place.outputs * kBlocks, 2);
      const std::vector<float> untouched(static_cast<std::size_t>(place.rows * place.stride + kFar),
                                         7.0F);
      std::vector<float> outs[2] = {untouched, untouched};
      const CpuTable* tables[2] = {&pair.tested, &pair.portable};
      for (int t = 0; t < 2; ++t) {
        Panel panel(*tables[t], x, place.rows, kBlocks);
        const auto tiles = Pack(*tables[t], type, weights, place.outputs, kBlocks);
        const auto address = reinterpret_cast<std::uintptr_t>(outs[t].data());
        const std::int64_t first = static_cast<std::int64_t>((64 - address % 64) % 64 / 4);
        float* out = outs[t].data() + first + place.offset;
        tables[t]->quant[static_cast<int>(type)].matmul({.x = panel.view(),
                                                         .rows = place.rows,
                                                         .blocks = kBlocks,
                                                         .tiles = tiles.data(),
                                                         .outputs = place.outputs,
                                                         .out = out,
                                                         .out_stride = place.stride,
                                                         .bias = nullptr,
                                                         .accumulate = false});
        for (std::int64_t r = 0; r < place.rows; ++r) {  // what lies between the rows
          const std::int64_t gap = first + place.offset + r * place.stride + place.outputs;
          const std::int64_t count = place.stride - place.outputs;
          ASSERT_EQ(std::memcmp(outs[t].data() + gap, untouched.data() + gap,
                                static_cast<std::size_t>(count) * sizeof(float)),
                    0);
        }
        outs[t].erase(outs[t].begin(), outs[t].begin() + first + place.offset);
        outs[t].resize(static_cast<std::size_t>((place.rows - 1) * place.stride + place.outputs));
      }
      for (std::int64_t r = 0; r < place.rows; ++r) {
        for (std::int64_t o = 0; o < place.outputs; ++o) {
          const auto at = static_cast<std::size_t>(r * place.stride + o);
          ASSERT_TRUE(SameBits(outs[0][at], outs[1][at])) << ToString(type) << " " << r << " " << o;
        }
      }
    }
  }
}

TEST(MatmulQuant, HasTheBitsOfPortableForEveryBlockCount) {
  for (const DType type : QuantTypes()) {
    for (const std::int64_t blocks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 18}) {
      for (const std::int64_t rows : {1, 3}) ExpectSame(type, {rows, blocks, 17});
    }
  }
}

TEST(MatmulQuant, HasTheBitsOfPortableForEveryNumberOfRows) {
  for (const DType type : QuantTypes()) {
    for (std::int64_t rows = 1; rows <= kPanelRows; ++rows) ExpectSame(type, {rows, 2, 16});
  }
}

TEST(MatmulQuant, HasTheBitsOfPortableForEveryNumberOfOutputs) {
  for (const DType type : QuantTypes()) {
    for (std::int64_t outputs = 1; outputs <= 33; ++outputs) {
      ExpectSame(type, {.rows = 2,
                        .type_blocks = 1,
                        .outputs = outputs,
                        .has_bias = outputs % 2 == 0,
                        .accumulate = outputs % 3 == 0});
    }
  }
}

TEST(MatmulQuant, HasTheBitsOfPortableForHugeAndTinyActivations) {
  for (const DType type : QuantTypes()) {
    for (const float scale : {1e-35F, 1e-28F, 1e4F, 1e30F}) {
      ExpectSame(type, {.rows = 2, .type_blocks = 3, .outputs = 16, .x_scale = scale});
    }
  }
}

TEST(MatmulQuant, KeepsNanAndInfinityInTheirOwnRow) {
  for (const DType type : QuantTypes()) {
    for (const std::int64_t rows : {2, 3, 8, 9}) {
      ExpectSame(type, {.rows = rows, .type_blocks = 3, .outputs = 11, .has_bad_rows = true});
    }
    QuantCase c = {.rows = 7, .type_blocks = 1, .outputs = 8, .has_bad_rows = true};
    const auto spoiled = Multiply(TableUnderTest(), type, c);
    c.has_bad_rows = false;
    const auto clean = Multiply(TableUnderTest(), type, c);
    for (std::size_t i = 0; i < clean.size(); ++i) {
      const std::size_t row = i / 11, output = i % 11;
      const bool is_bad = row % 3 != 0 && output < 8;
      EXPECT_EQ(std::isnan(spoiled[i]), is_bad) << ToString(type) << " " << row << " " << output;
      EXPECT_TRUE(is_bad || SameBits(spoiled[i], clean[i])) << ToString(type) << " " << row;
    }
  }
}

// What scales of two powers of two may be, in sixteenths of a power of two.
constexpr float kSixteenths[] = {16, 17, 18, 20, 24, 28, 30, 31};

// One block of the type of 16 outputs, by rows whose codes are all 127 or -127 and whose scales are
// the first `rows` of the above.
std::vector<float> MultiplyByLargest(const CpuTable& table, DType type,
                                     const std::vector<std::byte>& weights, float sign,
                                     std::int64_t rows) {
  const std::int64_t values = LayoutOf(type).block_values;
  std::vector<float> x;
  for (std::int64_t r = 0; r < rows; ++r) {
    x.insert(x.end(), static_cast<std::size_t>(values), sign * 127 * kSixteenths[r] / 16);
  }
  Panel panel(table, x, rows, values / kQuantValues);
  const auto tiles = Pack(table, type, weights, 16, 1);
  std::vector<float> out(static_cast<std::size_t>(rows) * 16);
  table.quant[static_cast<int>(type)].matmul({.x = panel.view(),
                                              .rows = rows,
                                              .blocks = values / kQuantValues,
                                              .tiles = tiles.data(),
                                              .outputs = 16,
                                              .out = out.data(),
                                              .out_stride = 16,
                                              .bias = nullptr,
                                              .accumulate = false});
  return out;
}

// Largest codes of both sides, where partial sums in 16 bits would overflow first.
TEST(MatmulQuant, DoesNotOverflowOnTheLargestCodes) {
  for (const DType type : QuantTypes()) {
    for (const std::byte fill : {std::byte{0xFF}, std::byte{0x80}, std::byte{0x7F}, std::byte{0}}) {
      auto weights = RandomBlocks(type, 16, 2);
      const int bytes = LayoutOf(type).block_bytes;
      for (int b = 0; b < 16; ++b) {
        // Leaves the scales at either end of a block as they are.
        const int begin =
            type == DType::kQ6_K || type == DType::kQ2_K || type == DType::kQ3_K ? 16 : bytes - 16;
        const int end = type == DType::kQ6_K   ? 192
                        : type == DType::kQ3_K ? 96
                        : type == DType::kQ2_K ? 80
                                               : bytes;
        for (int i = begin; i < end; ++i) weights[static_cast<std::size_t>(b * bytes + i)] = fill;
      }
      for (const float sign : {1.0F, -1.0F}) {
        for (const TablePair& tables : TablePairs()) {
          for (const std::int64_t rows : {1, 8}) {
            EXPECT_TRUE(SameBits(MultiplyByLargest(tables.tested, type, weights, sign, rows),
                                 MultiplyByLargest(tables.portable, type, weights, sign, rows)))
                << ToString(type) << " " << rows;
          }
        }
      }
    }
  }
}

TEST(Quantize, HasTheBitsOfPortableAlsoOnWhatIsNotFinite) {
  constexpr std::int64_t kBlocks = 7;
  constexpr std::int64_t kRows = 37;  // some together, some alone
  auto x = RandomFloats(kRows * kBlocks * kQuantValues, 5, 3.0F);
  x[40] = std::numeric_limits<float>::infinity();
  x[300] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 600; i < 640; ++i) x[i] = 0.0F;
  for (std::size_t i = 640; i < 680; ++i) x[i] = 1e-41F;
  for (std::size_t i = 700; i < 800; ++i) x[i] = 1e4F * x[i];
  for (std::size_t i = 800; i < 900; ++i) x[i] = -2.5F;
  for (std::size_t i = 900; i < x.size(); i += 3) {
    x[i] *= std::exp2(static_cast<float>(i % 250) - 125.0F);
  }
  for (const TablePair& tables : TablePairs()) {
    Panel got(tables.tested, x, kRows, kBlocks);
    Panel want(tables.portable, x, kRows, kBlocks);
    EXPECT_EQ(got.codes, want.codes);
    EXPECT_TRUE(SameBits(got.scales, want.scales));
    EXPECT_EQ(got.negative_sums, want.negative_sums);
    EXPECT_TRUE(SameBits(got.scaled_sums, want.scaled_sums));
    EXPECT_EQ(got.parts, want.parts);
  }
}

TEST(Quantize, KeepsEveryValueWithinHalfAStep) {
  constexpr std::int64_t kBlocks = 64;
  auto x = RandomFloats(kBlocks * kQuantValues, 6, 10.0F);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= 1.0F + static_cast<float>(i / kQuantValues);
  for (const TablePair& tables : TablePairs()) {
    const Panel panel(tables.tested, x, 1, kBlocks);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float scale = panel.scales[i / kQuantValues];
      EXPECT_LE(std::fabs(panel.codes[i] * scale - x[i]), 0.5001F * scale);
    }
  }
}

TEST(Quantize, RoundsScalesToTheNextOfTwoPowers) {
  if (!HasScaleRule(IsaUnderTest(), ScaleRule::kTwoPowers)) GTEST_SKIP() << "has exact scales only";
  const CpuTable table = MakeTable(IsaUnderTest(), ScaleRule::kTwoPowers);
  const std::pair<float, float> cases[] = {
      {1.0F, 1.0F},   {1.001F, 1.0625F}, {1.0625F, 1.0625F}, {1.07F, 1.125F}, {1.2F, 1.25F},
      {1.25F, 1.25F}, {1.26F, 1.5F},     {1.4F, 1.5F},       {1.55F, 1.75F},  {1.75F, 1.75F},
      {1.8F, 1.875F}, {1.9F, 1.9375F},   {1.99F, 2.0F}};
  for (const auto& [wanted, rounded] : cases) {
    for (const float power : {1.0F, 0x1p-90F, 0x1p90F}) {
      std::vector<float> x(kQuantValues, 0.0F);
      x[3] = -127.0F * wanted * power;
      const Panel panel(table, x, 1, 1);
      EXPECT_EQ(panel.scales[0], rounded * power) << wanted;
    }
  }
}

struct FloatCase {
  int type;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t outputs;
};

void ExpectSame(const FloatCase& c) {
  const std::size_t width = c.type == 0 ? 4 : 2;
  const std::int64_t x_stride = c.depth + 2;
  const auto x = RandomFloats(c.rows * x_stride + 1, 1);
  const auto bias = RandomFloats(c.outputs, 4);
  auto weights = RandomBytes(static_cast<std::size_t>(c.outputs * c.depth) * width, 2);
  for (std::size_t i = width - 1; i < weights.size(); i += width) {
    weights[i] = (weights[i] & std::byte{0x83}) | std::byte{0x34};
  }
  std::vector<float> outs[2];
  const CpuTable* tables[2] = {&TableUnderTest(), &PortableTable()};
  for (int t = 0; t < 2; ++t) {
    outs[t] = RandomFloats(c.rows * (c.outputs + 1), 3);
    tables[t]->matmul_float[c.type]({.x = x.data() + 1,
                                     .x_stride = x_stride,
                                     .rows = c.rows,
                                     .weights = weights.data(),
                                     .outputs = c.outputs,
                                     .depth = c.depth,
                                     .out = outs[t].data(),
                                     .out_stride = c.outputs + 1,
                                     .bias = c.depth % 2 == 0 ? bias.data() : nullptr,
                                     .accumulate = c.depth % 3 == 0});
  }
  ASSERT_TRUE(SameBits(outs[0], outs[1]))
      << c.type << " " << c.depth << " " << c.rows << " " << c.outputs;
}

TEST(MatmulFloat, HasTheBitsOfPortableForEveryDepthAndShape) {
  for (int type = 0; type < kNumFloatTypes; ++type) {
    for (std::int64_t depth = 0; depth <= 35; ++depth) {
      for (const std::int64_t rows : {1, 2, 5, 9}) {
        for (const std::int64_t outputs : {1, 3, 4, 6, 13}) {
          ExpectSame({type, rows, depth, outputs});
        }
      }
    }
  }
}

// So deep that the caches hold few outputs together.
TEST(MatmulFloat, HasTheBitsOfPortableForOutputsInGroups) {
  for (int type = 0; type < kNumFloatTypes; ++type) {
    for (const std::int64_t rows : {1, 4, 9}) ExpectSame({type, rows, 6000, 47});
  }
}

}  // namespace
}  // namespace quire::kernels
