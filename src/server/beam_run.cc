#include "server/beam_run.h"

#include <utility>

#include "base/strings.h"

namespace quire {

// Hears the beams of one step.
class BeamRun::StepListener : public PromptListener {
 public:
  StepListener(std::shared_ptr<BeamRun> run, std::size_t num_beams)
      : run_(std::move(run)), outputs_(num_beams) {}

  bool Hear(std::size_t index, RequestOutput output) override {
    if (output.is_finished) outputs_[index] = std::move(output);
    return true;
  }
  void Finish() override { run_->Take(outputs_); }
  void Fail(const Status& error) override { run_->listener_->Fail(error); }

 private:
  std::shared_ptr<BeamRun> run_;
  std::vector<RequestOutput> outputs_;
};

BeamRun::BeamRun(const PromptPlace& place, std::string id, std::vector<PromptInput> inputs,
                 const BeamSearchParams& params, std::unique_ptr<PromptListener> listener)
    : engine_(place.engine),
      ids_(*place.ids),
      id_(std::move(id)),
      params_(params),
      inputs_(std::move(inputs)),
      listener_(std::move(listener)) {}

void BeamRun::Start(const PromptPlace& place, const std::string& id,
                    std::vector<PromptInput> inputs, const BeamSearchParams& params,
                    std::unique_ptr<PromptListener> listener) {
  std::shared_ptr<BeamRun> run(
      new BeamRun(place, id, std::move(inputs), params, std::move(listener)));
  if (place.reply != nullptr) {
    place.reply->OnClientGone([weak = std::weak_ptr<BeamRun>(run)] {
      if (const auto strong = weak.lock()) strong->Cancel();
    });
  }
  run->BeginPrompt();
}

void BeamRun::Cancel() {
  std::shared_ptr<PromptRun> step;
  {
    MutexLock lock(mutex_);
    is_cancelled_ = true;
    step = std::move(step_);
  }
  if (step != nullptr) step->Cancel();
}

void BeamRun::BeginPrompt() {
  const auto engine = engine_.lock();
  if (engine == nullptr) {
    return listener_->Fail(Status(Code::kUnavailable, "the engine is shutting down"));
  }
  BeamModel model{.tokenizer = engine->has_tokenizer() ? &engine->tokenizer() : nullptr,
                  .eos_token_ids = engine->eos_token_ids(),
                  .max_model_len = engine->decisions().plan.max_model_len};
  BeamSearchParams params = params_;
  params.max_tokens =
      inputs_[prompt_idx_].sampling.max_tokens.value_or(engine->decisions().plan.max_model_len);
  auto steps = BeamSteps::Create(std::move(inputs_[prompt_idx_]), params, std::move(model));
  if (!steps.ok()) return listener_->Fail(steps.status());
  steps_ = std::make_unique<BeamSteps>(*std::move(steps));
  Go();
}

void BeamRun::Go() {
  std::vector<PromptInput> prompts = steps_->NextPrompts();
  if (prompts.empty()) return EndPrompt();
  const std::size_t num_beams = prompts.size();
  const PromptPlace place{.engine = engine_.lock(), .ids = &ids_, .reply = nullptr};
  const auto step = PromptRun::Start(place, StrCat(id_, "-", prompt_idx_), std::move(prompts),
                                     std::make_unique<StepListener>(shared_from_this(), num_beams));
  bool is_cancelled = false;
  {
    MutexLock lock(mutex_);
    step_ = step;
    is_cancelled = is_cancelled_;
  }
  if (is_cancelled) step->Cancel();
}

void BeamRun::Take(const std::vector<RequestOutput>& outputs) {
  if (const Status status = steps_->Take(outputs); !status.ok()) return listener_->Fail(status);
  Go();
}

void BeamRun::EndPrompt() {
  RequestOutput output;
  output.prompt_token_ids = steps_->prompt_token_ids();
  output.is_finished = true;
  for (BeamAnswer& answer : steps_->TakeAnswers()) {
    CompletionOutput completion;
    completion.index = static_cast<int>(output.outputs.size());
    completion.text = std::move(answer.text);
    completion.token_ids = std::move(answer.token_ids);
    completion.cumulative_logprob = answer.cumulative_logprob;
    completion.finish_reason = answer.finish_reason;
    output.outputs.push_back(std::move(completion));
  }
  listener_->Hear(prompt_idx_, std::move(output));
  if (++prompt_idx_ == inputs_.size()) return listener_->Finish();
  BeginPrompt();
}

Status CheckBeamSearch(const CommonFields& common, const SamplingParams& sampling) {
  if (!common.use_beam_search) return {};
  if (common.stream.value_or(false)) {
    return InvalidArgument("use_beam_search: excludes stream: true");
  }
  if (sampling.logprobs || sampling.prompt_logprobs) {
    return InvalidArgument("use_beam_search: excludes logprobs and prompt_logprobs");
  }
  if (sampling.structured_outputs != nullptr) {
    return InvalidArgument("use_beam_search: excludes constraints of the answer");
  }
  if (!sampling.stop.empty() || !sampling.stop_token_ids.empty()) {
    return InvalidArgument("use_beam_search: excludes stop and stop_token_ids");
  }
  if (sampling.repetition_detection) {
    return InvalidArgument("use_beam_search: excludes repetition_detection");
  }
  if (sampling.bounds_thinking()) {
    return InvalidArgument("use_beam_search: excludes thinking_token_budget");
  }
  return {};
}

void StartPrompts(const PromptPlace& place, const CommonFields& common, const std::string& id,
                  std::vector<PromptInput> inputs, std::unique_ptr<PromptListener> listener) {
  if (!common.use_beam_search) {
    PromptRun::Start(place, id, std::move(inputs), std::move(listener));
    return;
  }
  BeamSearchParams params;
  params.width = inputs.front().sampling.n;
  params.ignore_eos = inputs.front().sampling.ignore_eos;
  params.length_penalty = common.length_penalty;
  BeamRun::Start(place, id, std::move(inputs), params, std::move(listener));
}

}  // namespace quire
