// From tokens to what the caller sees: text, stop strings, logprobs, output kinds.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "engine/completion.h"
#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// Keeps one record for each live prompt. One thread.
class OutputProcessor {
 public:
  // `tokenizer` may be null: outputs then have no text.
  explicit OutputProcessor(std::shared_ptr<const Tokenizer> tokenizer);
  ~OutputProcessor();

  // Begins a prompt whose answers are `requests`, as FanOut gave them. kInvalidArgument when
  // `request_id` is alive already, or for stop strings that are too long.
  Status Add(std::string request_id, std::span<const EngineRequest> requests);

  // Takes in what one step brought, and appends one output for each prompt that has something to
  // say by its OutputKind. Requests that a stop string ended are appended to `ended`: the engine
  // must abort them.
  void Process(std::span<const EngineCoreOutput> outputs, std::vector<RequestOutput>& out,
               std::vector<RequestId>& ended);

  // The requests of a prompt that still run; empty for an unknown one.
  std::vector<RequestId> LiveRequests(const std::string& request_id) const;

  // Drops a prompt that was added and then refused by the engine.
  void Remove(const std::string& request_id);

  // Ends every prompt with an error.
  void FailAll(const Status& error, std::vector<RequestOutput>& out);

  std::size_t num_prompts() const { return prompts_.size(); }

 private:
  struct Prompt {
    std::string request_id;
    OutputKind kind = OutputKind::kCumulative;
    std::vector<TokenId> prompt_token_ids;
    std::vector<PositionLogprobs> prompt_logprobs;
    std::vector<Completion> completions;
    std::size_t num_finished = 0;
    int num_cached_tokens = 0;
    Status error;
    bool has_news = false;
    bool has_told_prompt = false;  // deltas give the prompt's ids once
  };
  struct Place {
    Prompt* prompt;
    std::size_t index;
  };

  void TakeIn(const EngineCoreOutput& output, std::vector<RequestId>& ended);
  void Report(Prompt& prompt, std::vector<RequestOutput>& out);
  static RequestOutput MakeOutput(Prompt& prompt);
  void Erase(Prompt& prompt);

  const std::shared_ptr<const Tokenizer> tokenizer_;
  std::unordered_map<std::string, std::unique_ptr<Prompt>> prompts_;
  std::unordered_map<RequestId, Place> by_request_;
  std::vector<Prompt*> with_news_;  // of the call under way, in the order of their first news
};

}  // namespace quire
