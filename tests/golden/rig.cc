#include "golden/rig.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "base/log.h"

namespace quire::golden {
namespace {

kernels::CpuTable TableOfEnvironment() {
  const char* wish = std::getenv("QUIRE_CPU_ISA");  // NOLINT(concurrency-mt-unsafe)
  const Result<kernels::CpuIsa> isa =
      kernels::ChooseIsa(wish == nullptr ? std::nullopt : std::optional<std::string_view>(wish));
  QUIRE_CHECK(isa.ok()) << isa.status().message();
  return kernels::MakeTable(*isa);
}

Rows CopyRows(ConstTensorView view) {
  const float* values = view.f32();
  return {view.dim(1), {values, values + view.dim(0) * view.dim(1)}};
}

// What one step hands to the model, with the memory behind its views.
struct Batch {
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> q_start = {0};
  std::vector<std::int32_t> context_lens;
  std::vector<std::vector<std::int32_t>> tables, slots;  // one a group
  std::vector<ops::AttentionBatch> groups;
};

void AddChunk(const Chunk& chunk, Batch& batch) {
  const auto start = static_cast<std::int32_t>(chunk.sequence->num_tokens);
  const auto count = static_cast<std::int32_t>(chunk.tokens.size());
  batch.tokens.insert(batch.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
  for (std::int32_t i = 0; i < count; ++i) batch.positions.push_back(start + i);
  batch.q_start.push_back(batch.q_start.back() + count);
  batch.context_lens.push_back(start + count);
}

void AddGroup(std::span<const Chunk> chunks, std::size_t group, int block_size, Batch& batch) {
  std::size_t max_blocks = 1;
  for (const Chunk& chunk : chunks) {
    max_blocks = std::max(max_blocks, chunk.sequence->blocks[group].size());
  }
  std::vector<std::int32_t> table, slots;
  for (const Chunk& chunk : chunks) {
    const std::vector<std::int32_t>& blocks = chunk.sequence->blocks[group];
    table.insert(table.end(), blocks.begin(), blocks.end());
    table.resize(table.size() + max_blocks - blocks.size(), 0);
    for (std::size_t i = 0; i < chunk.tokens.size(); ++i) {
      const std::int64_t position = chunk.sequence->num_tokens + static_cast<std::int64_t>(i);
      const std::int32_t block = blocks[static_cast<std::size_t>(position / block_size)];
      slots.push_back(block * block_size + static_cast<std::int32_t>(position % block_size));
    }
  }
  batch.tables.push_back(std::move(table));
  batch.slots.push_back(std::move(slots));
  batch.groups.push_back({batch.q_start, batch.context_lens, batch.tables.back(),
                          static_cast<std::int32_t>(max_blocks), batch.slots.back()});
}

}  // namespace

void Rows::Append(const Rows& more) {
  cols = more.cols;
  values.insert(values.end(), more.values.begin(), more.values.end());
}

Rig::Rig(const RigOptions& options)
    : options_(options),
      table_(TableOfEnvironment()),
      pool_({.num_threads = options.num_threads, .pin = false}),
      ctx_{&table_, &pool_, &scratch_} {
  // In shuffled order, so that a model which takes blocks to be neighbours fails.
  free_blocks_.resize(static_cast<std::size_t>(options.num_blocks - 1));
  std::iota(free_blocks_.begin(), free_blocks_.end(), 1);
  std::mt19937 random(7);
  std::shuffle(free_blocks_.begin(), free_blocks_.end(), random);
}

Result<std::unique_ptr<Rig>> Rig::Create(const std::string& model_path, const RigOptions& options) {
  std::unique_ptr<Rig> rig(new Rig(options));
  QUIRE_ASSIGN_OR_RETURN(auto checkpoint, Checkpoint::Open(model_path, {}));
  QUIRE_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(*checkpoint, options.overrides));
  LoadOptions load;
  load.precision = options.precision;
  QUIRE_ASSIGN_OR_RETURN(rig->model_, LoadModel(rig->ctx_, checkpoint, config, load));
  QUIRE_RETURN_IF_ERROR(rig->model_->Reserve(options.max_rows, options.max_model_len));
  QUIRE_RETURN_IF_ERROR(rig->AllocatePages());
  return rig;
}

Status Rig::AllocatePages() {
  spec_ = model_->kv_spec();
  const std::size_t num_layers = static_cast<std::size_t>(model_->config().num_layers);
  pages_.resize(num_layers);
  const Shape k_shape{options_.num_blocks, spec_.num_kv_heads, options_.block_size,
                      spec_.key_head_dim};
  const Shape v_shape{options_.num_blocks, spec_.num_kv_heads, options_.block_size,
                      spec_.value_head_dim};
  std::vector<ops::KvPages> buffers;
  for (std::int32_t i = 0; i < spec_.num_buffers(); ++i) {
    std::byte* data[2];
    for (int kv = 0; kv < 2; ++kv) {
      const Shape& shape = kv == 0 ? k_shape : v_shape;
      const std::size_t bytes = ops::KvPageBytes(options_.kv_dtype, shape);
      QUIRE_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(bytes));
      // Every bit set is a NaN in each type: reading a slot that nobody wrote shows.
      std::fill_n(buffer.data(), bytes, std::byte{0xFF});
      data[kv] = buffer.data();
      memory_.push_back(std::move(buffer));
    }
    buffers.push_back({TensorView(data[0], options_.kv_dtype, k_shape),
                       TensorView(data[1], options_.kv_dtype, v_shape)});
  }
  for (const KvGroupSpec& group : spec_.groups) {
    for (std::size_t i = 0; i < group.layers.size(); ++i) {
      pages_[static_cast<std::size_t>(group.layers[i])] = buffers[i];
    }
  }
  return {};
}

Sequence Rig::NewSequence() const {
  Sequence sequence;
  sequence.blocks.resize(spec_.groups.size());
  return sequence;
}

void Rig::Free(Sequence& sequence) {
  for (std::vector<std::int32_t>& blocks : sequence.blocks) {
    for (const std::int32_t block : blocks) {
      if (block != 0) free_blocks_.push_back(block);
    }
    blocks.clear();
  }
  sequence.num_tokens = 0;
}

void Rig::GrowBlocks(Sequence& sequence, std::int64_t num_new) {
  const std::int64_t num_tokens = sequence.num_tokens + num_new;
  const std::int64_t wanted = (num_tokens + options_.block_size - 1) / options_.block_size;
  for (std::vector<std::int32_t>& blocks : sequence.blocks) {
    while (static_cast<std::int64_t>(blocks.size()) < wanted) {
      QUIRE_CHECK(!free_blocks_.empty()) << "the pool of blocks is too small";
      blocks.push_back(free_blocks_.back());
      free_blocks_.pop_back();
    }
  }
}

void Rig::DropBlocks(const KvGroupSpec& group, Sequence& sequence,
                     std::vector<std::int32_t>& blocks) {
  if (group.kind == AttentionKind::kFull) return;
  // The next token sees positions from here on.
  const std::int64_t first = sequence.num_tokens - group.window + 1;
  for (std::int64_t i = 0; (i + 1) * options_.block_size <= first; ++i) {
    std::int32_t& block = blocks[static_cast<std::size_t>(i)];
    if (block == 0) continue;
    free_blocks_.insert(free_blocks_.begin(), block);
    block = 0;
  }
}

StepOutput Rig::Step(std::span<const Chunk> chunks,
                     std::optional<std::span<const std::int32_t>> wanted_rows) {
  Batch batch;
  for (const Chunk& chunk : chunks) {
    GrowBlocks(*chunk.sequence, static_cast<std::int64_t>(chunk.tokens.size()));
    AddChunk(chunk, batch);
  }
  batch.tables.reserve(spec_.groups.size());
  batch.slots.reserve(spec_.groups.size());
  for (std::size_t group = 0; group < spec_.groups.size(); ++group) {
    AddGroup(chunks, group, options_.block_size, batch);
  }
  const ConstTensorView hidden =
      model_->Forward(ctx_, {batch.tokens, batch.positions, batch.groups, pages_, wanted_rows});
  StepOutput out{CopyRows(hidden), {model_->config().vocab_size, {}}};
  out.logits.values.resize(static_cast<std::size_t>(hidden.dim(0) * out.logits.cols));
  model_->Logits(ctx_, hidden, F32View(out.logits.values.data(), {hidden.dim(0), out.logits.cols}));
  for (const Chunk& chunk : chunks) {
    chunk.sequence->num_tokens += static_cast<std::int64_t>(chunk.tokens.size());
    for (std::size_t group = 0; group < spec_.groups.size(); ++group) {
      DropBlocks(spec_.groups[group], *chunk.sequence, chunk.sequence->blocks[group]);
    }
  }
  return out;
}

StepOutput Rig::Run(Sequence& sequence, std::span<const TokenId> tokens, std::int64_t chunk) {
  StepOutput all;
  const std::size_t size = chunk == 0 ? tokens.size() : static_cast<std::size_t>(chunk);
  for (std::size_t start = 0; start < tokens.size(); start += size) {
    const Chunk next{&sequence, tokens.subspan(start, std::min(size, tokens.size() - start))};
    const StepOutput out = Step({&next, 1});
    all.hidden.Append(out.hidden);
    all.logits.Append(out.logits);
  }
  return all;
}

TokenId BestToken(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double Logprob(std::span<const float> logits, TokenId token) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - max);
  return logits[static_cast<std::size_t>(token)] - max - std::log(sum);
}

}  // namespace quire::golden
