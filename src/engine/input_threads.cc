#include "engine/input_threads.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

// A prompt of more text waits for a thread that reads long ones, so that it holds no others up.
constexpr std::size_t kMaxShortBytes = std::size_t{64} << 10;

bool IsLong(const PromptInput& input) {
  return input.text.size() + input.prepare_bytes > kMaxShortBytes;
}

// Of a prompt that was aborted before it was read.
RequestOutput AbortedOutput(std::string request_id, int count) {
  RequestOutput output = LastOutput(std::move(request_id), Status());
  for (int i = 0; i < count; ++i) {
    CompletionOutput& answer = output.outputs.emplace_back();
    answer.index = i;
    answer.finish_reason = FinishReason::kAbort;
  }
  return output;
}

void Join(std::vector<std::jthread>& threads) {
  for (std::jthread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace

InputThreads::InputThreads(Options options, const Neighbours& neighbours)
    : options_(std::move(options)),
      neighbours_(neighbours),
      submitted_(options_.max_queued),
      submitted_long_(options_.max_queued),
      compiling_(options_.max_queued) {
  try {
    StartThreads();
  } catch (...) {
    Stop();  // no destructor runs, and the threads that have started wait for their queues
    throw;
  }
}

void InputThreads::StartThreads() {
  for (int i = 0; i < std::max(1, options_.num_threads); ++i) {
    input_threads_.emplace_back([this] { RunInput(submitted_); });
  }
  input_threads_.emplace_back([this] { RunInput(submitted_long_); });
  const unsigned num_compilers = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 4U);
  for (unsigned i = 0; i < num_compilers; ++i) {
    compiler_threads_.emplace_back([this] { RunCompiler(); });
  }
}

bool InputThreads::TryPush(SubmittedPrompt& prompt) {
  return (IsLong(prompt.input) ? submitted_long_ : submitted_).TryPush(prompt);
}

// From the first thread of a prompt's way to the last, so that each can still hand on.
void InputThreads::Stop() {
  submitted_.Close();
  submitted_long_.Close();
  Join(input_threads_);
  compiling_.Close();
  Join(compiler_threads_);
}

void InputThreads::RunInput(MessageQueue<SubmittedPrompt>& prompts) {
  while (auto prompt = prompts.Pop()) {
    if (neighbours_.live.IsAborted(prompt->request_id)) {
      End(AbortedOutput(std::move(prompt->request_id), prompt->admission.requests.count),
          std::move(prompt->sink));
      continue;
    }
    PreparedPrompt prepared;
    Result<bool> lacks_grammar = false;
    try {
      lacks_grammar = Prepare(*prompt, prepared);
    } catch (const std::exception& error) {
      lacks_grammar = Internal(StrCat("preparing the prompt: ", error.what()));
    }
    if (!lacks_grammar.ok()) {
      End(LastOutput(std::move(prompt->request_id), lacks_grammar.status()),
          std::move(prompt->sink));
    } else if (!*lacks_grammar) {
      HandOn(prepared);
    } else {
      Defer(prepared);
    }
  }
}

// Gives whether a grammar must still be compiled.
Result<bool> InputThreads::Prepare(SubmittedPrompt& prompt, PreparedPrompt& prepared) const {
  if (is_stopping()) return ShuttingDown();
  const auto begin = std::chrono::steady_clock::now();
  const int stream_interval = std::max(options_.stream_interval, prompt.input.stream_interval);
  QUIRE_ASSIGN_OR_RETURN(
      EngineRequest request,
      neighbours_.processor.Prepare(std::move(prompt.input), prompt.admission.number));
  request.arrival = prompt.arrival;
  if (options_.on_prompt) options_.on_prompt(prompt.request_id, request);
  const bool lacks_grammar = neighbours_.processor.LacksGrammar(request);
  prepared.requests = FanOut(std::move(request), prompt.admission.requests.first);
  QUIRE_ASSIGN_OR_RETURN(prepared.record,
                         PromptRecord::Create(neighbours_.tokenizer, prompt.request_id,
                                              prepared.requests, stream_interval));
  prepared.sink = std::move(prompt.sink);
  prepared.record->NoteTokenized(begin, std::chrono::steady_clock::now());
  return lacks_grammar;
}

void InputThreads::HandOn(PreparedPrompt& prepared) {
  if (neighbours_.inbox.PushPrompt(prepared)) return;
  End(prepared.record->Fail(ShuttingDown()), std::move(prepared.sink));
}

void InputThreads::Defer(PreparedPrompt& prepared) {
  const auto count = static_cast<int>(prepared.requests.size());
  neighbours_.metrics.NoteDeferred(count);  // before a compiler can take it and note its end
  if (compiling_.TryPush(prepared)) return;
  neighbours_.metrics.NoteDeferred(-count);
  End(LastOutput(prepared.record->request_id(),
                 ResourceExhausted("too many grammars are waiting to be compiled; try again "
                                   "later")),
      std::move(prepared.sink));
}

void InputThreads::RunCompiler() {
  while (auto prepared = compiling_.Pop()) {
    const auto count = static_cast<int>(prepared->requests.size());
    Status status;
    try {
      status = Compile(*prepared);
    } catch (const std::exception& error) {
      status = Internal(StrCat("compiling the grammar: ", error.what()));
    }
    neighbours_.metrics.NoteDeferred(-count);
    if (status.ok()) {
      HandOn(*prepared);
    } else {
      End(LastOutput(prepared->record->request_id(), std::move(status)), std::move(prepared->sink));
    }
  }
}

Status InputThreads::Compile(PreparedPrompt& prepared) const {
  if (is_stopping()) return ShuttingDown();
  QUIRE_RETURN_IF_ERROR(neighbours_.processor.CompileGrammar(prepared.requests.front()));
  const EngineRequest& first = prepared.requests.front();
  for (EngineRequest& request : prepared.requests) request.grammar = first.grammar;
  prepared.record->Warn(first.warning);
  return {};
}

void InputThreads::End(RequestOutput last, OutputSink sink) {
  neighbours_.output.Push(EndedPrompt{.output = std::move(last), .sink = std::move(sink)});
}

}  // namespace quire
