#include "engine/llm.h"

#include <chrono>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "engine/assemble.h"
#include "engine/output.h"

namespace quire {

struct Llm::State {
  EngineParts parts;
  std::int64_t max_waiting = 0;
  int stream_interval = 1;
  OutputProcessor output;
  std::uint64_t num_prompts = 0;  // submitted so far
  std::int64_t next_request = 0;
  std::int64_t num_generated_tokens = 0;
  std::vector<RequestId> ended;  // by stop strings, in the step under way
  Status failure;                // why the engine cannot go on
};

Llm::Llm(std::unique_ptr<State> state) : state_(std::move(state)) {}
Llm::~Llm() = default;

Result<std::unique_ptr<Llm>> Llm::Create(const EngineConfig& config, const LoadProgress& progress) {
  QUIRE_ASSIGN_OR_RETURN(EngineParts parts, LoadEngine(config, progress));
  auto state = std::make_unique<State>();
  state->parts = std::move(parts);
  state->max_waiting = config.scheduler.max_waiting;
  state->stream_interval = config.scheduler.stream_interval;
  return std::unique_ptr<Llm>(new Llm(std::move(state)));
}

Result<std::unique_ptr<Llm>> Llm::CreateOver(const EngineConfig& config,
                                             std::unique_ptr<Executor> executor,
                                             std::shared_ptr<const Tokenizer> tokenizer) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  QUIRE_ASSIGN_OR_RETURN(
      EngineParts parts,
      AssembleEngine(config, ReadMachineMemory(), std::move(executor), std::move(tokenizer)));
  auto state = std::make_unique<State>();
  state->parts = std::move(parts);
  state->max_waiting = config.scheduler.max_waiting;
  state->stream_interval = config.scheduler.stream_interval;
  return std::unique_ptr<Llm>(new Llm(std::move(state)));
}

const ModelFacts& Llm::facts() const { return state_->parts.facts; }
const EngineDecisions& Llm::decisions() const { return state_->parts.decisions; }
bool Llm::has_tokenizer() const { return state_->parts.tokenizer != nullptr; }
const Tokenizer& Llm::tokenizer() const {
  QUIRE_CHECK(has_tokenizer()) << "the model has no tokenizer";
  return *state_->parts.tokenizer;
}
const SamplingParams& Llm::sampling_defaults() const { return state_->parts.sampling_defaults; }
const std::vector<TokenId>& Llm::eos_token_ids() const { return state_->parts.eos_token_ids; }
SchedulerStats Llm::stats() const { return state_->parts.core->stats(); }
const StepTiming& Llm::last_timing() const { return state_->parts.core->last_timing(); }
std::int64_t Llm::num_generated_tokens() const { return state_->num_generated_tokens; }

Status Llm::Submit(const std::string& request_id, PromptInput input) {
  State& state = *state_;
  QUIRE_RETURN_IF_ERROR(state.failure);
  QUIRE_ASSIGN_OR_RETURN(EngineRequest request,
                         state.parts.input->Prepare(std::move(input), state.num_prompts));
  QUIRE_RETURN_IF_ERROR(state.parts.input->CompileGrammar(request));
  ++state.num_prompts;
  std::vector<EngineRequest> requests = FanOut(std::move(request), RequestId(state.next_request));
  state.next_request += static_cast<std::int64_t>(requests.size());
  QUIRE_ASSIGN_OR_RETURN(auto record, PromptRecord::Create(state.parts.tokenizer.get(), request_id,
                                                           requests, state.stream_interval));
  record->NoteQueued(std::chrono::steady_clock::now());
  QUIRE_RETURN_IF_ERROR(state.output.Add(std::move(record)));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestId id = requests[i].id;
    if (Status status = state.parts.core->Add(std::move(requests[i])); !status.ok()) {
      for (std::int64_t back = 1; back <= static_cast<std::int64_t>(i); ++back) {
        state.parts.core->Abort(RequestId(id.value() - back));
      }
      state.output.Remove(request_id);
      return status;
    }
  }
  return {};
}

void Llm::Abort(const std::string& request_id) {
  for (const RequestId id : state_->output.LiveRequests(request_id)) state_->parts.core->Abort(id);
}

bool Llm::has_unfinished() const { return state_->output.num_prompts() > 0; }

Status Llm::Step(std::vector<RequestOutput>& outputs) {
  State& state = *state_;
  outputs.clear();
  state.ended.clear();
  QUIRE_RETURN_IF_ERROR(state.failure);
  const auto stepped = state.parts.core->Step();
  if (!stepped.ok()) {
    state.failure = stepped.status();
    state.output.FailAll(state.failure, outputs);
    return state.failure;
  }
  for (const EngineCoreOutput& output : *stepped) {
    state.num_generated_tokens += static_cast<std::int64_t>(output.new_tokens.size());
  }
  const StepReport& report = state.parts.core->last_report();
  state.output.NoteScheduled(state.parts.core->last_admitted(), report.begin);
  state.output.Process(*stepped, report.end, outputs, state.ended);
  const std::vector<EngineCoreOutput> others = state.parts.core->TakeOutputs();
  if (!others.empty()) state.output.Process(others, report.end, outputs, state.ended);
  for (const RequestId id : state.ended) state.parts.core->Abort(id);
  return {};
}

std::vector<RequestOutput> Llm::Generate(std::vector<PromptInput> prompts,
                                         const std::function<void()>& on_step) {
  return GenerateWith(std::move(prompts), [&](const GenerateProgress&) {
    if (on_step) on_step();
  });
}

std::vector<RequestOutput> Llm::GenerateWith(
    std::vector<PromptInput> prompts, const std::function<void(const GenerateProgress&)>& on_step) {
  std::vector<RequestOutput> results(prompts.size());
  std::unordered_map<std::string, std::size_t> places;  // of the prompts under way
  std::vector<RequestOutput> outputs;
  const std::uint64_t batch = state_->num_prompts;
  const std::int64_t tokens_before = state_->num_generated_tokens;
  std::size_t next = 0;
  std::int64_t num_live = 0;  // answers
  Status status;
  while (status.ok() && (next < prompts.size() || !places.empty())) {
    // No more at once than may wait, so that none is refused for their number.
    while (next < prompts.size() &&
           (places.empty() || num_live + prompts[next].sampling.n <= state_->max_waiting)) {
      const std::size_t i = next++;
      const int n = prompts[i].sampling.n;
      std::string id = StrCat("generate-", batch, "-", i);
      results[i].request_id = id;
      prompts[i].sampling.output_kind = OutputKind::kFinalOnly;
      if (Status refused = Submit(id, std::move(prompts[i])); !refused.ok()) {
        results[i].error = std::move(refused);
        results[i].is_finished = true;
      } else {
        places.emplace(std::move(id), i);
        num_live += n;
      }
    }
    status = Step(outputs);
    for (RequestOutput& output : outputs) {
      const auto place = places.find(output.request_id);
      if (place == places.end() || !output.is_finished) continue;
      num_live -= static_cast<std::int64_t>(output.outputs.size());
      results[place->second] = std::move(output);
      places.erase(place);
    }
    if (on_step) {
      on_step({.num_finished = next - places.size(),
               .num_generated_tokens = state_->num_generated_tokens - tokens_before});
    }
  }
  for (; next < prompts.size(); ++next) results[next].error = status;
  return results;
}

Status Llm::EvaluateLogits(
    std::span<const TokenId> ids,
    const std::function<void(std::int64_t row, std::span<const float>)>& consume) {
  return state_->parts.core->executor().EvaluateLogits(ids, consume);
}

}  // namespace quire
