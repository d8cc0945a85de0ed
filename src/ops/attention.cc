#include "ops/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

namespace quire::ops {
namespace {

using kernels::kAttentionChunk;
using kernels::kMaxPairedDim;
using kernels::kMaxQueries;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// With fewer units of work than this per thread, the context is dealt out too.
constexpr std::int64_t kUnitsPerThread = 4;
// With more query vectors than this a chunk takes longer to compute than to fetch.
constexpr std::int64_t kFewQueries = 8;
// Bytes of a tile's context, all heads, up to which it is asked for one tile ahead: two of them fit
// the second cache.
constexpr std::int64_t kSmallContext = std::int64_t{256} << 10;
// Most chunks, over all units, whose partial results are held at once.
constexpr std::int64_t kMaxPartials = 256;

kernels::KvType KvTypeOf(DType type) {
  if (type == DType::kF32) return kernels::KvType::kF32;
  if (type == DType::kF16) return kernels::KvType::kF16;
  if (type == DType::kI8) return kernels::KvType::kInt8;
  QUIRE_CHECK(type == DType::kBF16);
  return kernels::KvType::kBF16;
}

kernels::AttendFn AttendOf(const kernels::CpuTable& table, const KvPages& pages) {
  const DType dtype = pages.k.dtype();
  const std::int64_t head_dim = pages.k.dim(3);
  const bool fits = head_dim % 2 == 0 && std::max(head_dim, pages.v.dim(3)) <= kMaxPairedDim;
  if (dtype == DType::kBF16 && fits && table.attend_pairs != nullptr) return table.attend_pairs;
  return table.attend[static_cast<int>(KvTypeOf(dtype))];
}

// Bytes of one head's part of one page.
std::int64_t HeadBytes(DType dtype, const Shape& shape) {
  const std::int64_t scale_bytes = dtype == DType::kI8 ? kernels::kKvScaleBytes : 0;
  return shape[2] * (shape[3] * LayoutOf(dtype).block_bytes + scale_bytes);
}

// Bytes of all heads' part of one page, keys and values.
std::int64_t BlockBytes(const KvPages& pages) {
  return pages.k.dim(1) * (HeadBytes(pages.k.dtype(), pages.k.shape()) +
                           HeadBytes(pages.v.dtype(), pages.v.shape()));
}

kernels::KvHead HeadOf(const KvPages& pages, std::int64_t head) {
  const TensorView& k = pages.k;
  const TensorView& v = pages.v;
  const std::int64_t value_bytes = LayoutOf(k.dtype()).block_bytes;
  const bool apart = pages.block_bytes > 0;
  const std::int64_t k_bytes = HeadBytes(k.dtype(), k.shape());
  const std::int64_t v_bytes = HeadBytes(v.dtype(), v.shape());
  return {.k = k.data() + head * k_bytes,
          .v = v.data() + head * v_bytes,
          .k_block_stride = (apart ? pages.block_bytes : k.dim(1) * k_bytes) / value_bytes,
          .v_block_stride = (apart ? pages.block_bytes : v.dim(1) * v_bytes) / value_bytes,
          .block_size = k.dim(2),
          .head_dim = k.dim(3),
          .value_dim = v.dim(3)};
}

void CheckPages(const KvPages& pages) {
  QUIRE_CHECK(pages.k.shape().rank() == 4 && pages.v.shape().rank() == 4);
  QUIRE_CHECK(pages.k.dtype() == pages.v.dtype());
  for (int i = 0; i < 3; ++i) QUIRE_CHECK(pages.k.dim(i) == pages.v.dim(i));
  QUIRE_CHECK(pages.block_bytes % LayoutOf(pages.k.dtype()).block_bytes == 0);
}

// Adjacent rows of one request.
struct Tile {
  std::int32_t request;
  std::int32_t row;  // of the step
  std::int32_t rows;
  std::int32_t first_end;  // positions that its first row sees, from 0
};

// One call: tiles of rows times slices of heads are units of work that share nothing.
class Step {
 public:
  Step(OpContext& ctx, ConstTensorView q, const KvPages& pages, const AttentionBatch& batch,
       const AttentionOptions& options, TensorView out);
  void Run();

 private:
  struct Partials {
    float* max;  // [queries]
    float* sum;
    float* out;  // [queries, value_dim]
  };
  std::int64_t TilesOf(std::size_t request) const;
  void MakeTiles();
  void RunWholeUnits();
  void RunAlone(std::int64_t unit, std::int64_t chunk, const Partials& state) const;
  void RunInWaves();
  void Merge(std::int64_t unit, std::int64_t first_chunk, std::int64_t last_chunk,
             const std::byte* partials) const;
  void Finish(std::int64_t query, float max, float sum) const;

  const Tile& TileOf(std::int64_t unit) const { return tiles_[unit / units_per_tile_]; }
  // First query head of a unit and how many it has.
  std::int64_t FirstHead(std::int64_t unit) const;
  std::int64_t NumHeads(std::int64_t unit) const;
  std::int64_t FirstChunk(const Tile& tile) const;
  std::int64_t EndChunk(const Tile& tile) const { return CeilDiv(EndOf(tile), kAttentionChunk); }
  std::int64_t PartialBytes() const { return kMaxQueries * (2 + value_dim_) * 4; }
  Partials PartialAt(std::byte* memory) const;
  void Attend(std::int64_t unit, std::int64_t chunk, const Partials& state,
              std::int64_t out_stride) const;
  kernels::NextPositions PositionsOf(std::int64_t unit, std::int64_t chunk) const;
  kernels::NextPositions After(std::int64_t unit, std::int64_t chunk) const;
  kernels::NextPositions PartOfNextTile(std::int64_t unit, std::int64_t chunk) const;
  const std::int32_t* BlocksOf(const Tile& tile) const {
    return batch_.block_table.data() + std::int64_t{tile.request} * batch_.max_blocks;
  }
  std::int64_t EndOf(const Tile& tile) const { return tile.first_end + tile.rows - 1; }

  OpContext& ctx_;
  ConstTensorView q_;
  const KvPages& pages_;
  const AttentionBatch& batch_;
  const AttentionOptions& options_;
  TensorView out_;
  kernels::AttendFn attend_;
  std::int64_t num_heads_;
  std::int64_t heads_per_kv_;
  std::int64_t slices_per_kv_;  // of at most kMaxQueries heads
  std::int64_t heads_per_slice_;
  std::int64_t rows_per_tile_;
  std::int64_t units_per_tile_;
  std::int64_t value_dim_;
  std::int64_t small_end_;  // positions of the longest small context
  std::int64_t num_tiles_ = 0;
  std::int64_t num_units_ = 0;
  Tile* tiles_ = nullptr;
  float* max_ = nullptr;  // [rows, num_heads]
  float* sum_ = nullptr;
  std::byte* partials_ = nullptr;
  std::atomic<std::int32_t>* chunks_left_ = nullptr;  // [units], of a wave
};

Step::Step(OpContext& ctx, ConstTensorView q, const KvPages& pages, const AttentionBatch& batch,
           const AttentionOptions& options, TensorView out)
    : ctx_(ctx),
      q_(q),
      pages_(pages),
      batch_(batch),
      options_(options),
      out_(out),
      attend_(AttendOf(*ctx.table, pages)),
      num_heads_(q.dim(1)),
      heads_per_kv_(q.dim(1) / pages.k.dim(1)),
      slices_per_kv_(CeilDiv(heads_per_kv_, kMaxQueries)),
      heads_per_slice_(CeilDiv(heads_per_kv_, slices_per_kv_)),
      rows_per_tile_(kMaxQueries / heads_per_slice_),
      units_per_tile_(pages.k.dim(1) * slices_per_kv_),
      value_dim_(pages.v.dim(3)),
      small_end_(kSmallContext / BlockBytes(pages) * pages.k.dim(2)) {
  for (std::size_t i = 0; i < batch.context_lens.size(); ++i) num_tiles_ += TilesOf(i);
  num_units_ = num_tiles_ * units_per_tile_;
  const std::int64_t state_bytes = q.dim(0) * num_heads_ * 8;
  const std::int64_t tile_bytes =
      CeilDiv(num_tiles_ * static_cast<std::int64_t>(sizeof(Tile)), 64) * 64;
  const std::int64_t partial_bytes = kMaxPartials * PartialBytes();
  const std::int64_t left_bytes = num_units_ * static_cast<std::int64_t>(sizeof *chunks_left_);
  std::byte* memory = ctx.scratch->Get(
      static_cast<std::size_t>(tile_bytes + partial_bytes + state_bytes + left_bytes));
  tiles_ = reinterpret_cast<Tile*>(memory);
  partials_ = memory + tile_bytes;
  max_ = reinterpret_cast<float*>(partials_ + partial_bytes);
  sum_ = max_ + q.dim(0) * num_heads_;
  chunks_left_ = reinterpret_cast<std::atomic<std::int32_t>*>(sum_ + q.dim(0) * num_heads_);
  MakeTiles();
}

std::int64_t Step::TilesOf(std::size_t request) const {
  return CeilDiv(batch_.q_start[request + 1] - batch_.q_start[request], rows_per_tile_);
}

void Step::MakeTiles() {
  Tile* tile = tiles_;
  for (std::size_t i = 0; i < batch_.context_lens.size(); ++i) {
    const std::int32_t end = batch_.q_start[i + 1];
    for (std::int32_t row = batch_.q_start[i]; row < end; ++tile) {
      const auto rows =
          static_cast<std::int32_t>(std::min<std::int64_t>(rows_per_tile_, end - row));
      *tile = {static_cast<std::int32_t>(i), row, rows, batch_.context_lens[i] - (end - 1 - row)};
      row += rows;
    }
  }
}

std::int64_t Step::FirstHead(std::int64_t unit) const {
  const std::int64_t slice = unit % units_per_tile_;
  return slice / slices_per_kv_ * heads_per_kv_ + slice % slices_per_kv_ * heads_per_slice_;
}

std::int64_t Step::NumHeads(std::int64_t unit) const {
  const std::int64_t before = unit % units_per_tile_ % slices_per_kv_ * heads_per_slice_;
  return std::min(heads_per_slice_, heads_per_kv_ - before);
}

std::int64_t Step::FirstChunk(const Tile& tile) const {
  if (options_.window <= 0) return 0;
  return std::max(0, tile.first_end - options_.window) / kAttentionChunk;
}

Step::Partials Step::PartialAt(std::byte* memory) const {
  auto* max = reinterpret_cast<float*>(memory);
  return {max, max + kMaxQueries, max + 2 * kMaxQueries};
}

kernels::NextPositions Step::PositionsOf(std::int64_t unit, std::int64_t chunk) const {
  const Tile& tile = TileOf(unit);
  return {.kv = HeadOf(pages_, unit % units_per_tile_ / slices_per_kv_),
          .block_table = BlocksOf(tile),
          .begin = chunk * kAttentionChunk,
          .end = std::min(EndOf(tile), (chunk + 1) * kAttentionChunk)};
}

// As much of the next tile's context as this chunk is of its own tile's work. All heads of a block
// go together, as they lie in memory: one head's part alone is over before it streams.
kernels::NextPositions Step::PartOfNextTile(std::int64_t unit, std::int64_t chunk) const {
  const Tile& tile = TileOf(unit);
  const Tile& next = TileOf(unit + units_per_tile_);
  const std::int64_t first = FirstChunk(tile) * kAttentionChunk;
  const std::int64_t length = EndOf(tile) - first;
  const std::int64_t before = unit % units_per_tile_ * length - first;  // by other heads
  const std::int64_t end = std::min(EndOf(tile), (chunk + 1) * kAttentionChunk);
  const std::int64_t block_size = pages_.k.dim(2);
  const std::int64_t first_block = FirstChunk(next) * kAttentionChunk / block_size;
  const std::int64_t blocks = CeilDiv(EndOf(next), block_size) - first_block;
  const auto block_at = [&](std::int64_t part) {
    return first_block + blocks * part / (units_per_tile_ * length);
  };
  kernels::KvHead all_heads = HeadOf(pages_, 0);
  all_heads.head_dim *= pages_.k.dim(1);
  all_heads.value_dim *= pages_.k.dim(1);
  return {.kv = all_heads,
          .block_table = BlocksOf(next),
          .begin = block_at(before + chunk * kAttentionChunk) * block_size,
          .end = block_at(before + end) * block_size};
}

// What comes after a chunk where units go through their chunks in order.
kernels::NextPositions Step::After(std::int64_t unit, std::int64_t chunk) const {
  const std::int64_t next_tile = unit / units_per_tile_ + 1;
  if (next_tile < num_tiles_ && EndOf(tiles_[next_tile]) <= small_end_) {
    return PartOfNextTile(unit, chunk);
  }
  if (chunk + 1 < EndChunk(TileOf(unit))) return PositionsOf(unit, chunk + 1);
  if (unit + 1 < num_units_) return PositionsOf(unit + 1, FirstChunk(TileOf(unit + 1)));
  return {};
}

// Attends to one chunk of a unit and merges the result into `state`, whose rows of output are
// `out_stride` apart.
void Step::Attend(std::int64_t unit, std::int64_t chunk, const Partials& state,
                  std::int64_t out_stride) const {
  const Tile& tile = TileOf(unit);
  const std::int64_t head_dim = q_.dim(2);
  const std::int64_t heads = NumHeads(unit);
  const kernels::NextPositions here = PositionsOf(unit, chunk);
  const bool asks_ahead = tile.rows * heads <= kFewQueries;
  const kernels::NextPositions next = asks_ahead ? After(unit, chunk) : kernels::NextPositions{};
  attend_({.kv = here.kv,
           .block_table = here.block_table,
           .q = q_.f32() + (tile.row * num_heads_ + FirstHead(unit)) * head_dim,
           .q_stride = num_heads_ * head_dim,
           .rows = tile.rows,
           .heads = heads,
           .first_end = tile.first_end,
           .window = options_.window,
           .chunk = chunk,
           .scale = options_.scale,
           .softcap = options_.softcap,
           .max = state.max,
           .sum = state.sum,
           .out = state.out,
           .out_stride = out_stride,
           .next = asks_ahead ? &next : nullptr});
}

// Each unit goes through its chunks in order, with its state in the thread's partial memory and its
// output in `out`.
void Step::RunWholeUnits() {
  ctx_.pool->ForEach(num_units_, [&](std::int64_t unit, int thread_idx) {
    const Tile& tile = TileOf(unit);
    const std::int64_t heads = NumHeads(unit);
    const std::int64_t first_query = tile.row * num_heads_ + FirstHead(unit);
    Partials state = PartialAt(partials_ + thread_idx * PartialBytes());
    state.out = out_.f32() + first_query * value_dim_;
    std::fill_n(state.max, tile.rows * heads, kMinusInfinity);
    std::fill_n(state.sum, tile.rows * heads, 0.0F);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      std::fill_n(state.out + r * num_heads_ * value_dim_, heads * value_dim_, 0.0F);
    }
    for (std::int64_t chunk = FirstChunk(tile); chunk < EndChunk(tile); ++chunk) {
      Attend(unit, chunk, state, num_heads_ * value_dim_);
    }
    for (std::int64_t i = 0; i < tile.rows * heads; ++i) {
      Finish(first_query + i / heads * num_heads_ + i % heads, state.max[i], state.sum[i]);
    }
  });
}

// Merges the partial results of chunks [first_chunk, last_chunk) in order.
void Step::Merge(std::int64_t unit, std::int64_t first_chunk, std::int64_t last_chunk,
                 const std::byte* partials) const {
  const Tile& tile = TileOf(unit);
  const std::int64_t heads = NumHeads(unit);
  for (std::int64_t chunk = first_chunk; chunk < last_chunk; ++chunk) {
    const Partials part = PartialAt(const_cast<std::byte*>(partials));
    for (std::int64_t i = 0; i < tile.rows * heads; ++i) {
      const std::int64_t query = (tile.row + i / heads) * num_heads_ + FirstHead(unit) + i % heads;
      ctx_.table->merge_attention({max_ + query, sum_ + query, out_.f32() + query * value_dim_},
                                  {part.max + i, part.sum + i, part.out + i * value_dim_},
                                  value_dim_);
    }
    partials += PartialBytes();
  }
}

// One chunk of a unit by itself, into `state`, which needs no content.
void Step::RunAlone(std::int64_t unit, std::int64_t chunk, const Partials& state) const {
  const Tile& tile = TileOf(unit);
  const std::int64_t heads = NumHeads(unit);
  const std::int64_t queries = tile.rows * heads;
  std::fill_n(state.max, queries, kMinusInfinity);
  std::fill_n(state.sum, queries, 0.0F);
  if (chunk < FirstChunk(tile) || chunk >= EndChunk(tile)) return;
  std::fill_n(state.out, queries * value_dim_, 0.0F);
  Attend(unit, chunk, state, heads * value_dim_);
}

// Few units: their chunks run at once, a bounded number at a time, into memory of their own. Who
// ends a unit's last chunk merges them all; merging a chunk's result later gives the bits of
// merging it at once.
void Step::RunInWaves() {
  const std::int64_t queries = q_.dim(0) * num_heads_;
  std::fill_n(max_, queries, kMinusInfinity);
  std::fill_n(sum_, queries, 0.0F);
  std::fill_n(out_.f32(), queries * value_dim_, 0.0F);
  const std::int64_t wave = kMaxPartials / num_units_;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < num_tiles_; ++i) end = std::max(end, EndChunk(tiles_[i]));
  for (std::int64_t first = 0; first < end; first += wave) {
    const std::int64_t chunks = std::min(wave, end - first);
    for (std::int64_t i = 0; i < num_units_; ++i) {
      chunks_left_[i].store(static_cast<std::int32_t>(chunks), std::memory_order_relaxed);
    }
    ctx_.pool->ForEach(num_units_ * chunks, [&](std::int64_t task, int) {
      const std::int64_t unit = task / chunks;
      std::byte* partials = partials_ + unit * wave * PartialBytes();
      RunAlone(unit, first + task % chunks, PartialAt(partials + task % chunks * PartialBytes()));
      if (chunks_left_[unit].fetch_sub(1, std::memory_order_acq_rel) == 1) {
        Merge(unit, first, first + chunks, partials);
      }
    });
  }
  for (std::int64_t i = 0; i < queries; ++i) Finish(i, max_[i], sum_[i]);
}

// Divides what stands in a query's output by its sum.
void Step::Finish(std::int64_t query, float max, float sum) const {
  float* out = out_.f32() + query * value_dim_;
  if (!options_.sinks.empty()) {
    const float sink = options_.sinks[static_cast<std::size_t>(query % num_heads_)];
    const float larger = std::max(max, sink);
    const float rescale = std::exp(max - larger);
    sum = sum * rescale + std::exp(sink - larger);
    ctx_.table->scale(out, rescale, out, value_dim_);
  }
  ctx_.table->scale(out, 1.0F / sum, out, value_dim_);
}

void Step::Run() {
  const int num_threads = ctx_.pool->num_threads();
  if (num_threads > 1 && num_units_ < num_threads * kUnitsPerThread) {
    RunInWaves();
  } else {
    RunWholeUnits();
  }
}

}  // namespace

std::size_t KvPageBytes(DType dtype, const Shape& shape) {
  return static_cast<std::size_t>(shape[0] * shape[1] * HeadBytes(dtype, shape));
}

void WriteKv(OpContext& ctx, ConstTensorView k, ConstTensorView v,
             std::span<const std::int32_t> slots, const KvPages& pages) {
  CheckPages(pages);
  QUIRE_CHECK(k.dim(0) == static_cast<std::int64_t>(slots.size()) && k.dim(0) == v.dim(0));
  QUIRE_CHECK(k.dim(1) == pages.k.dim(1) && k.dim(2) == pages.k.dim(3));
  QUIRE_CHECK(v.dim(1) == pages.v.dim(1) && v.dim(2) == pages.v.dim(3));
  const auto write = ctx.table->write_kv[static_cast<int>(KvTypeOf(pages.k.dtype()))];
  const std::int64_t rows = k.dim(0), heads = k.dim(1);
  const auto write_rows = [&](std::int64_t head, std::int64_t begin, std::int64_t end) {
    write({.kv = HeadOf(pages, head),
           .k = k.f32() + (begin * heads + head) * k.dim(2),
           .v = v.f32() + (begin * heads + head) * v.dim(2),
           .k_stride = heads * k.dim(2),
           .v_stride = heads * v.dim(2),
           .rows = end - begin,
           .slots = slots.data() + begin});
  };
  constexpr std::int64_t kRowsForThreads = 32;
  if (rows < kRowsForThreads) {
    for (std::int64_t head = 0; head < heads; ++head) write_rows(head, 0, rows);
    return;
  }
  // Heads alone are few, and uneven for the threads.
  const std::int64_t parts = ctx.pool->num_threads();
  ctx.pool->ForEach(heads * parts, [&](std::int64_t task, int) {
    const std::int64_t part = task / heads;
    write_rows(task % heads, rows * part / parts, rows * (part + 1) / parts);
  });
}

void PagedAttention(OpContext& ctx, ConstTensorView q, const KvPages& pages,
                    const AttentionBatch& batch, const AttentionOptions& options, TensorView out) {
  CheckPages(pages);
  QUIRE_CHECK(q.shape().rank() == 3 && q.dim(2) == pages.k.dim(3));
  QUIRE_CHECK(q.dim(1) % pages.k.dim(1) == 0);
  QUIRE_CHECK(out.shape().num_values() == q.dim(0) * q.dim(1) * pages.v.dim(3));
  QUIRE_CHECK(batch.q_start.size() == batch.context_lens.size() + 1);
  QUIRE_CHECK(batch.q_start.back() == q.dim(0));
  if (q.dim(0) == 0) return;
  Step(ctx, q, pages, batch, options, out).Run();
}

}  // namespace quire::ops
