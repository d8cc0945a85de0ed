// Runs prompts through the engine and writes their answers in order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apps/quire/generation.h"
#include "apps/quire/io.h"
#include "apps/quire/prompts.h"
#include "apps/quire/terminal.h"
#include "base/status.h"
#include "engine/llm.h"
#include "request/sampling_params.h"

namespace quire {

struct GenerateOutput {
  bool json = false;   // a JSON object a prompt, instead of text
  bool quiet = false;  // nothing about speed
};

// One run; one thread. The text of the prompt whose turn it is goes out as it comes; later prompts
// wait for their turn. With n > 1 a prompt's answers follow each other, a line feed between them.
class GenerateRun {
 public:
  GenerateRun(Llm& llm, const SamplingParams& defaults, const GenerateOutput& output);

  // kCancelled, without a message, on Ctrl-C; what was generated until then has been written. A
  // prompt that is refused or fails does not stop the others; the result then names the first.
  Status Run(const std::vector<Prompt>& prompts);

 private:
  struct Live {
    Generation generation;
    SamplingParams sampling;
  };

  void SubmitMore(const std::vector<Prompt>& prompts);
  Status StepOnce();
  Status WriteReady(const std::vector<Prompt>& prompts);
  Status WriteText(const Live& live);
  Status FinishFront(const std::vector<Prompt>& prompts, const Live& live);
  void AbortAll();
  void ShowProgress(std::size_t num_prompts);
  void ReportSpeed(std::size_t num_prompts) const;

  Llm& llm_;
  const SamplingParams defaults_;
  const GenerateOutput output_;
  const std::size_t max_live_;
  const bool is_terminal_;
  Writer out_;
  ProgressLine progress_;
  Clock::time_point start_;
  std::map<std::size_t, Live> live_;  // by index of the prompt; those that are written are gone
  std::size_t num_submitted_ = 0;
  std::size_t num_written_ = 0;   // prompts written to the end
  std::size_t front_answer_ = 0;  // of the prompt whose turn it is
  std::size_t front_bytes_ = 0;   // of that answer, written
  std::int64_t num_failed_ = 0;
  std::int64_t num_prompt_tokens_ = 0;
  std::int64_t num_tokens_ = 0;
  Status first_failure_;
  std::string speed_line_;  // of the last prompt
  std::vector<RequestOutput> outputs_;
};

}  // namespace quire
