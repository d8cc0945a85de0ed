#include "engine/llm.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "config/generation_config.h"
#include "engine/core.h"
#include "engine/input.h"
#include "engine/load_tokenizer.h"
#include "engine/machine_memory.h"
#include "engine/output.h"

namespace quire {

struct Llm::State {
  EngineDecisions decisions;
  SamplingParams sampling_defaults;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<EngineCore> core;
  std::unique_ptr<InputProcessor> input;
  OutputProcessor output;
  std::uint64_t num_prompts = 0;  // submitted so far
  std::int64_t next_request = 0;
  std::int64_t max_waiting = 0;
  std::vector<RequestId> ended;  // by stop strings, in the step under way
  Status failure;                // why the engine cannot go on
};

namespace {

// Where generation_config.json may lie; empty for a model without a folder.
std::string FolderOf(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path : std::string();
}

Result<std::shared_ptr<const Tokenizer>> FindTokenizer(const ModelOptions& options) {
  if (!options.tokenizer.empty()) return LoadTokenizer(options.tokenizer);
  auto found = LoadTokenizer(options.model);
  if (!found.ok() && found.status().code() == Code::kNotFound) {
    return std::shared_ptr<const Tokenizer>();
  }
  return found;
}

// Every id that any of the model's files names as an end: a wrong guess would generate for ever.
std::vector<TokenId> EosTokens(const ModelFacts& facts, const GenerationConfig& generation,
                               const Tokenizer* tokenizer) {
  std::vector<TokenId> ids = facts.eos_token_ids;
  ids.insert(ids.end(), generation.eos_token_ids.begin(), generation.eos_token_ids.end());
  if (tokenizer != nullptr) {
    ids.insert(ids.end(), tokenizer->eos_ids().begin(), tokenizer->eos_ids().end());
  }
  std::vector<TokenId> usable;
  for (const TokenId id : ids) {
    const bool is_known = id >= 0 && id < facts.vocab_size;
    if (is_known && std::ranges::find(usable, id) == usable.end()) usable.push_back(id);
  }
  return usable;
}

}  // namespace

Llm::Llm(std::unique_ptr<State> state) : state_(std::move(state)) {}
Llm::~Llm() = default;

Result<std::unique_ptr<Llm>> Llm::Create(const EngineConfig& config, const LoadProgress& progress) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  const MachineMemory memory = ReadMachineMemory();
  QUIRE_ASSIGN_OR_RETURN(auto executor, CreateInlineExecutor(config, progress));
  QUIRE_ASSIGN_OR_RETURN(auto tokenizer, FindTokenizer(config.model));
  return Assemble(config, memory, std::move(executor), std::move(tokenizer));
}

Result<std::unique_ptr<Llm>> Llm::CreateOver(const EngineConfig& config,
                                             std::unique_ptr<Executor> executor,
                                             std::shared_ptr<const Tokenizer> tokenizer) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  return Assemble(config, ReadMachineMemory(), std::move(executor), std::move(tokenizer));
}

Result<std::unique_ptr<Llm>> Llm::Assemble(const EngineConfig& config, const MachineMemory& memory,
                                           std::unique_ptr<Executor> executor,
                                           std::shared_ptr<const Tokenizer> tokenizer) {
  auto state = std::make_unique<State>();
  const ModelFacts& facts = executor->facts();
  QUIRE_ASSIGN_OR_RETURN(state->decisions, SizeEngine(config, facts, memory));
  const KvCachePlan& plan = state->decisions.plan;
  QUIRE_RETURN_IF_ERROR(executor->InitKvCache(plan));
  QUIRE_ASSIGN_OR_RETURN(const GenerationConfig generation,
                         LoadGenerationConfig(config.model, FolderOf(config.model.model)));
  state->sampling_defaults = generation.Defaults();
  state->max_waiting = config.scheduler.max_waiting;
  state->tokenizer = std::move(tokenizer);
  state->input = std::make_unique<InputProcessor>(
      InputProcessor::Options{.vocab_size = facts.vocab_size,
                              .max_model_len = plan.max_model_len,
                              .max_logprobs = config.model.max_logprobs,
                              .seed = config.model.seed,
                              .eos_token_ids = EosTokens(facts, generation, state->tokenizer.get()),
                              .max_new_tokens = generation.max_new_tokens},
      state->tokenizer);
  QUIRE_ASSIGN_OR_RETURN(state->core, EngineCore::Create(config, plan, std::move(executor)));
  return std::unique_ptr<Llm>(new Llm(std::move(state)));
}

const ModelFacts& Llm::facts() const { return state_->core->executor().facts(); }
const EngineDecisions& Llm::decisions() const { return state_->decisions; }
bool Llm::has_tokenizer() const { return state_->tokenizer != nullptr; }
const Tokenizer& Llm::tokenizer() const {
  QUIRE_CHECK(has_tokenizer()) << "the model has no tokenizer";
  return *state_->tokenizer;
}
const SamplingParams& Llm::sampling_defaults() const { return state_->sampling_defaults; }
SchedulerStats Llm::stats() const { return state_->core->stats(); }
const StepTiming& Llm::last_timing() const { return state_->core->last_timing(); }

Status Llm::Submit(std::string request_id, PromptInput input) {
  State& state = *state_;
  QUIRE_RETURN_IF_ERROR(state.failure);
  QUIRE_ASSIGN_OR_RETURN(EngineRequest request,
                         state.input->Prepare(std::move(input), state.num_prompts));
  ++state.num_prompts;
  std::vector<EngineRequest> requests = FanOut(std::move(request), RequestId(state.next_request));
  state.next_request += static_cast<std::int64_t>(requests.size());
  QUIRE_ASSIGN_OR_RETURN(auto record,
                         PromptRecord::Create(state.tokenizer.get(), request_id, requests));
  record->NoteQueued(std::chrono::steady_clock::now());
  QUIRE_RETURN_IF_ERROR(state.output.Add(std::move(record)));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestId id = requests[i].id;
    if (Status status = state.core->Add(std::move(requests[i])); !status.ok()) {
      for (std::int64_t back = 1; back <= static_cast<std::int64_t>(i); ++back) {
        state.core->Abort(RequestId(id.value() - back));
      }
      state.output.Remove(request_id);
      return status;
    }
  }
  return {};
}

void Llm::Abort(const std::string& request_id) {
  for (const RequestId id : state_->output.LiveRequests(request_id)) state_->core->Abort(id);
}

bool Llm::has_unfinished() const { return state_->output.num_prompts() > 0; }

Status Llm::Step(std::vector<RequestOutput>& outputs) {
  State& state = *state_;
  outputs.clear();
  state.ended.clear();
  QUIRE_RETURN_IF_ERROR(state.failure);
  const auto stepped = state.core->Step();
  if (!stepped.ok()) {
    state.failure = stepped.status();
    state.output.FailAll(state.failure, outputs);
    return state.failure;
  }
  state.output.NoteScheduled(state.core->last_admitted(), std::chrono::steady_clock::now());
  state.output.Process(*stepped, outputs, state.ended);
  const std::vector<EngineCoreOutput> others = state.core->TakeOutputs();
  if (!others.empty()) state.output.Process(others, outputs, state.ended);
  for (const RequestId id : state.ended) state.core->Abort(id);
  return {};
}

std::vector<RequestOutput> Llm::Generate(std::vector<PromptInput> prompts,
                                         const std::function<void()>& on_step) {
  std::vector<RequestOutput> results(prompts.size());
  std::unordered_map<std::string, std::size_t> places;  // of the prompts under way
  std::vector<RequestOutput> outputs;
  const std::uint64_t batch = state_->num_prompts;
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
    if (on_step) on_step();
  }
  for (; next < prompts.size(); ++next) results[next].error = status;
  return results;
}

Status Llm::EvaluateLogits(
    std::span<const TokenId> ids,
    const std::function<void(std::int64_t row, std::span<const float>)>& consume) {
  return state_->core->executor().EvaluateLogits(ids, consume);
}

}  // namespace quire
