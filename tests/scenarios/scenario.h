// A scenario file: what happens to a scheduler, and what each of its steps is to be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/status.h"
#include "sched/scheduler.h"
#include "sched/testing.h"

namespace quire {

// Plays scenarios line by line; README.md in this folder gives the lines. Each step is executed by
// a worker that notices reads of foreign blocks.
class Scenario {
 public:
  // Plays the whole text. The fault names the line, what was expected there and what was found;
  // empty: everything was as written.
  std::string Play(std::string_view text);

 private:
  using Words = std::vector<std::string>;

  // What the next step gives to one request.
  struct Script {
    std::optional<std::vector<TokenId>> tokens;
    std::vector<TokenId> drafts;
    bool fails = false;
  };

  Status PlayLine(const Words& words);
  Status SetOption(const Words& words);
  Status Start();
  Status Act(const Words& words);
  Status Check(const Words& words);

  Result<EngineRequest> ParseRequest(const Words& words);
  Result<std::vector<TokenId>> ParsePrompt(const std::string& text, const std::string& name);
  Status SetRequestField(const std::string& key, const std::string& value, EngineRequest& request);
  Status Add(const Words& words);
  Status Refuse(const Words& words);
  Status Step(const Words& words);
  StepResult MakeResult(const StepPlan& plan);
  Result<RequestId> IdOf(const std::string& name) const;
  const std::string& NameOf(RequestId id) const { return names_.at(id); }
  std::string Describe(const StepPlan& plan) const;
  std::string Describe(const EngineCoreOutput& output) const;
  std::optional<std::int64_t> StatOf(const std::string& word) const;

  SchedulerConfig config_ = SmallConfig();
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<FakeWorker> worker_;
  std::map<std::string, RequestId> ids_;
  std::map<RequestId, std::string> names_;
  std::map<RequestId, Script> scripts_;
  std::string outputs_;    // of the last step
  std::string forgotten_;  // what the last plan lists as finished
  std::map<RequestId, std::int64_t> cached_;
};

}  // namespace quire
