// Answers by a beam search instead of drawn ones, for use_beam_search.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/beam_search.h"
#include "engine/prompt.h"
#include "server/prompt_run.h"
#include "server/request_fields.h"

namespace quire {

// Searches for the prompts of one HTTP request, one prompt after another; the listener hears one
// output a prompt, with all its answers. Any thread. Lives while the engine or the connection
// knows it.
class BeamRun : public std::enable_shared_from_this<BeamRun> {
 public:
  // `place` and `id` as for PromptRun::Start.
  static void Start(const PromptPlace& place, const std::string& id,
                    std::vector<PromptInput> inputs, const BeamSearchParams& params,
                    std::unique_ptr<PromptListener> listener);

 private:
  class StepListener;
  BeamRun(const PromptPlace& place, std::string id, std::vector<PromptInput> inputs,
          const BeamSearchParams& params, std::unique_ptr<PromptListener> listener);
  void Cancel() QUIRE_EXCLUDES(mutex_);
  void BeginPrompt();
  void Go();
  void Take(const std::vector<RequestOutput>& outputs);
  void EndPrompt();

  const std::weak_ptr<AsyncEngine> engine_;
  LiveIds& ids_;
  const std::string id_;
  const BeamSearchParams params_;

  // Of the thread that starts the search, then of the one that hears outputs.
  std::vector<PromptInput> inputs_;
  std::unique_ptr<PromptListener> listener_;
  std::size_t prompt_idx_ = 0;
  std::unique_ptr<BeamSteps> steps_;

  Mutex mutex_;
  std::shared_ptr<PromptRun> step_ QUIRE_GUARDED_BY(mutex_);  // the one under way
  bool is_cancelled_ QUIRE_GUARDED_BY(mutex_) = false;
};

// Checks what a beam search cannot have: streams, logprobs, constraints. kInvalidArgument names
// the field.
Status CheckBeamSearch(const CommonFields& common, const SamplingParams& sampling);

// Starts the prompts of a request as it asks for it: drawn, or by a beam search.
void StartPrompts(const PromptPlace& place, const CommonFields& common, const std::string& id,
                  std::vector<PromptInput> inputs, std::unique_ptr<PromptListener> listener);

}  // namespace quire
