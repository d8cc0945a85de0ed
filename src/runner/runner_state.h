// The parts of a ModelRunner, shared by the sources that implement it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/model.h"
#include "ops/context.h"
#include "platform/thread_pool.h"
#include "runner/batch.h"
#include "runner/model_runner.h"
#include "runner/paged_kv_cache.h"
#include "sample/sampler.h"
#include "tensor/tensor.h"

namespace quire {

struct ModelRunner::State {
  // Constant after loading.
  ModelFacts facts;
  DType kv_dtype = DType::kF32;
  kernels::CpuTable table = {};
  std::unique_ptr<ThreadPool> pool;
  ops::Scratch scratch;
  ops::OpContext ctx = {};
  std::unique_ptr<Model> model;
  std::unique_ptr<Sampler> sampler;

  // Sized by InitKvCache.
  KvCachePlan kv_plan;
  PagedKvCache pages;
  std::unique_ptr<Batch> batch;
  Buffer logits;    // [max_logit_rows, vocab]
  Buffer gathered;  // [max_logit_rows, hidden]: the hidden rows whose logits are wanted
  std::int32_t max_logit_rows = 0;
  PagedKvCache evaluation_pages;

  // Of the step under way, kept for their memory.
  ConstTensorView hidden;                 // what Begin computed, until Finish
  std::vector<std::int32_t> wanted_rows;  // all whose hidden states are read; rising
  std::vector<std::int32_t> hidden_rows;  // rising
  std::vector<std::size_t> sources;       // the plan's row of each sampling row
  std::vector<SamplingRow> sampling_rows;
  std::vector<SampledToken> sampled;

  Status AllocateLogits(std::int32_t max_rows);

  // Logits of these rows of `rows_of`, at most max_logit_rows; valid until the next call.
  TensorView ComputeLogits(ConstTensorView rows_of, std::span<const std::int32_t> rows);

  void ListWantedRows(const StepPlan& plan);

  // Draws the tokens of all requests that sample, in groups whose logits fit the buffer.
  Status SampleRows(const StepPlan& plan, const StepMasks& masks, StepResult& out);
  // Lists sampling rows from the plan's row `first` on; gives the first plan row that did not fit.
  Result<std::size_t> GatherSamplingRows(const StepPlan& plan, const StepMasks& masks,
                                         std::size_t first);
  Result<std::span<const std::uint32_t>> GrammarMask(const StepMasks& masks,
                                                     const ScheduledRow& row,
                                                     std::size_t draft) const;
  void TakeSamples(const StepPlan& plan, StepResult& out);

  void ScorePrompts(const StepPlan& plan, StepResult& out);
  void ScorePrompt(const BatchedRequest& request, std::int32_t first_position,
                   std::int32_t first_row, std::span<PositionLogprobs> out);
};

}  // namespace quire
