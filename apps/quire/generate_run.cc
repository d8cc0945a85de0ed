#include "apps/quire/generate_run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "apps/quire/command.h"
#include "apps/quire/interrupt.h"
#include "base/strings.h"

namespace quire {

namespace {

// Enough waiting prompts for the scheduler to fill every step, without holding all in memory.
constexpr std::size_t kMaxLive = 1024;

std::string Rate(double tokens, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f tokens/s", seconds > 0 ? tokens / seconds : 0.0);
  return text;
}

}  // namespace

GenerateRun::GenerateRun(Llm& llm, const SamplingParams& defaults, const GenerateOutput& output)
    : llm_(llm),
      defaults_(defaults),
      output_(output),
      max_live_(kMaxLive),
      is_terminal_(IsTerminal(STDOUT_FILENO)),
      out_(STDOUT_FILENO, "standard output"),
      start_(Clock::now()) {}

Status GenerateRun::Run(const std::vector<Prompt>& prompts) {
  bool has_told_sizes = output_.quiet;
  while (num_written_ < prompts.size()) {
    if (IsInterrupted()) {
      AbortAll();
      QUIRE_RETURN_IF_ERROR(WriteReady(prompts));
      ReportSpeed(prompts.size());
      return Status(Code::kCancelled, "");
    }
    SubmitMore(prompts);
    if (!has_told_sizes && llm_.has_unfinished()) {
      Tell(llm_.decisions().summary);
      has_told_sizes = true;
    }
    if (llm_.has_unfinished()) QUIRE_RETURN_IF_ERROR(StepOnce());
    QUIRE_RETURN_IF_ERROR(WriteReady(prompts));
    ShowProgress(prompts.size());
  }
  ReportSpeed(prompts.size());
  if (num_failed_ <= 1) return first_failure_;
  return first_failure_.With(StrCat(num_failed_, " prompts failed; the first"));
}

void GenerateRun::SubmitMore(const std::vector<Prompt>& prompts) {
  while (num_submitted_ < prompts.size() && live_.size() < max_live_) {
    const std::size_t idx = num_submitted_++;
    Live& live = live_[idx];
    Result<PromptInput> input = prompts[idx].ToInput(defaults_);
    if (!input.ok()) {
      live.generation.Fail(input.status());
      continue;
    }
    live.sampling = input->sampling;
    const Status submitted = llm_.Submit(StrCat(idx), *std::move(input));
    if (!submitted.ok()) live.generation.Fail(submitted);
  }
}

Status GenerateRun::StepOnce() {
  outputs_.clear();
  QUIRE_RETURN_IF_ERROR(llm_.Step(outputs_));
  for (const RequestOutput& output : outputs_) {
    const auto idx = ParseNumber<std::size_t>(output.request_id);
    const auto found = idx ? live_.find(*idx) : live_.end();
    if (found != live_.end()) found->second.generation.Add(output);
  }
  return {};
}

Status GenerateRun::WriteReady(const std::vector<Prompt>& prompts) {
  while (!live_.empty()) {
    const Live& front = live_.begin()->second;
    if (!output_.json) QUIRE_RETURN_IF_ERROR(WriteText(front));
    if (!front.generation.is_finished()) return {};
    QUIRE_RETURN_IF_ERROR(FinishFront(prompts, front));
    live_.erase(live_.begin());
    ++num_written_;
    front_answer_ = 0;
    front_bytes_ = 0;
  }
  return {};
}

// What the answers of the prompt whose turn it is have gained.
Status GenerateRun::WriteText(const Live& live) {
  const std::vector<CompletionOutput>& answers = live.generation.answers();
  while (front_answer_ < answers.size()) {
    const CompletionOutput& answer = answers[front_answer_];
    const std::string_view fresh = std::string_view(answer.text).substr(front_bytes_);
    if (!fresh.empty()) {
      progress_.Clear();
      QUIRE_RETURN_IF_ERROR(out_.WriteNow(is_terminal_ ? ForTerminal(fresh) : std::string(fresh)));
      front_bytes_ = answer.text.size();
    }
    const bool is_last = front_answer_ + 1 == static_cast<std::size_t>(live.sampling.n);
    if (!answer.finish_reason || is_last) return {};
    QUIRE_RETURN_IF_ERROR(out_.WriteNow("\n"));
    ++front_answer_;
    front_bytes_ = 0;
  }
  return {};
}

Status GenerateRun::FinishFront(const std::vector<Prompt>& prompts, const Live& live) {
  const Generation& generation = live.generation;
  num_prompt_tokens_ += generation.num_prompt_tokens();
  num_tokens_ += generation.num_tokens();
  speed_line_ = generation.SpeedLine();
  const Prompt& prompt = prompts[num_written_];
  if (!generation.status().ok() && num_failed_++ == 0) {
    first_failure_ =
        prompt.place.empty() ? generation.status() : generation.status().With(prompt.place);
  }
  if (!output_.json) {
    // Only a terminal, and texts that follow each other, need an end of line.
    const bool is_alone = prompts.size() == 1;
    return is_terminal_ || !is_alone ? out_.WriteNow("\n") : Status();
  }
  if (!generation.status().ok() && prompts.size() == 1) return {};
  progress_.Clear();
  const Tokenizer* tokenizer = llm_.has_tokenizer() ? &llm_.tokenizer() : nullptr;
  return out_.WriteNow(generation.ToJson(tokenizer, live.sampling).Dump() + "\n");
}

void GenerateRun::AbortAll() {
  for (const auto& [idx, live] : live_) {
    if (!live.generation.is_finished()) llm_.Abort(StrCat(idx));
  }
  while (llm_.has_unfinished()) {
    if (!StepOnce().ok()) return;
  }
}

void GenerateRun::ShowProgress(std::size_t num_prompts) {
  if (num_prompts == 1 || output_.quiet || !progress_.is_due()) return;
  std::int64_t tokens = num_tokens_;
  std::size_t num_finished = num_written_;
  for (const auto& [idx, live] : live_) {
    tokens += live.generation.num_tokens();
    if (live.generation.is_finished()) ++num_finished;
  }
  const SchedulerStats stats = llm_.stats();
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto waiting = static_cast<std::size_t>(stats.num_waiting) + num_prompts - num_submitted_;
  progress_.Show(StrCat(num_finished, " of ", num_prompts, " prompts, ",
                        Rate(static_cast<double>(tokens), seconds), ", ", stats.num_running,
                        " running, ", waiting, " waiting, KV cache ",
                        static_cast<int>(stats.kv_cache_usage() * 100.0), "%"));
}

void GenerateRun::ReportSpeed(std::size_t num_prompts) const {
  if (output_.quiet || num_prompt_tokens_ == 0) return;
  std::string line = speed_line_;
  if (num_prompts > 1) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    line = StrCat(num_written_, " prompts, ", Plural(num_prompt_tokens_, "prompt token"), ", ",
                  Plural(num_tokens_, "generated token"), ", ",
                  Rate(static_cast<double>(num_tokens_), seconds));
  }
  if (!line.empty()) Tell(line);
}

}  // namespace quire
