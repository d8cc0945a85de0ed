#include "engine/api_llm.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/api_convert.h"

namespace quire::api {

Options& Options::Set(std::string name, double value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return Set(std::move(name), std::string(digits, end.ptr));
}

const char* Version() { return QUIRE_VERSION; }

LLM::LLM(std::unique_ptr<State> state) : state_(std::move(state)) {}
LLM::LLM(LLM&&) noexcept = default;
LLM& LLM::operator=(LLM&&) noexcept = default;
LLM::~LLM() = default;

Result<LLM> LLM::Create(const std::string& model, const Options& options) {
  const auto config = ToEngineConfig(model, options);
  if (!config.ok()) return ToPublic(config.status());
  auto llm = Llm::Create(*config, {});
  if (!llm.ok()) return ToPublic(llm.status());
  auto state = std::make_unique<State>();
  state->llm = *std::move(llm);
  return LLM(std::move(state));
}

Result<std::vector<Output>> LLM::Generate(const std::vector<Prompt>& prompts,
                                          const Options& sampling,
                                          const ProgressCallback& progress) {
  Llm& llm = *state_->llm;
  const auto params = ToSamplingParams(llm.sampling_defaults(), sampling);
  if (!params.ok()) return ToPublic(params.status());
  std::vector<PromptInput> inputs;
  inputs.reserve(prompts.size());
  for (const Prompt& prompt : prompts) inputs.push_back(ToPromptInput(prompt, *params));
  const auto on_step = [&](const GenerateProgress& so_far) {
    if (!progress) return;
    const SchedulerStats stats = llm.stats();
    progress({.num_finished = static_cast<int>(so_far.num_finished),
              .num_prompts = static_cast<int>(prompts.size()),
              .num_running = static_cast<int>(stats.num_running),
              .num_waiting = static_cast<int>(stats.num_waiting),
              .kv_cache_usage = stats.kv_cache_usage(),
              .num_generated_tokens = so_far.num_generated_tokens});
  };
  std::vector<Output> outputs;
  outputs.reserve(prompts.size());
  for (RequestOutput& output : llm.GenerateWith(std::move(inputs), on_step)) {
    outputs.push_back(ToPublic(std::move(output)));
  }
  return outputs;
}

Result<std::vector<TokenId>> LLM::Tokenize(const std::string& text) const {
  if (!state_->llm->has_tokenizer()) {
    return Status(Code::kFailedPrecondition, "the model has no tokenizer");
  }
  auto ids = state_->llm->tokenizer().Encode(text);
  if (!ids.ok()) return ToPublic(ids.status());
  return *std::move(ids);
}

Result<std::string> LLM::Detokenize(const std::vector<TokenId>& ids) const {
  if (!state_->llm->has_tokenizer()) {
    return Status(Code::kFailedPrecondition, "the model has no tokenizer");
  }
  return state_->llm->tokenizer().Decode(ids);
}

int LLM::max_model_len() const { return state_->llm->decisions().plan.max_model_len; }
std::vector<std::string> LLM::decisions() const { return state_->llm->decisions().reasons; }

}  // namespace quire::api
