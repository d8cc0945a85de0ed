#include "engine/async_engine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "engine/assemble.h"
#include "engine/engine_inbox.h"
#include "engine/input.h"
#include "engine/live_prompts.h"
#include "engine/message_queue.h"
#include "engine/output_thread.h"

namespace quire {
namespace {

// After so many good steps a failure counts as the first one again.
constexpr std::int64_t kStepsToForgiveRestarts = 1000;

// A prompt of more text waits for a thread that reads long ones, so that it holds no others up.
constexpr std::size_t kMaxShortBytes = std::size_t{64} << 10;

// What a caller handed in, on its way to an input thread.
struct SubmittedPrompt {
  std::string request_id;
  LivePrompts::Admission admission;
  PromptInput input;
  OutputSink sink;
  std::chrono::steady_clock::time_point arrival;
};

Status ShuttingDown() { return Status(Code::kUnavailable, "the engine is shutting down"); }

bool IsLong(const PromptInput& input) {
  return input.text.size() + input.prepare_bytes > kMaxShortBytes;
}

// Of a prompt that was aborted before it was read.
RequestOutput AbortedOutput(std::string request_id, int count) {
  RequestOutput output;
  output.request_id = std::move(request_id);
  output.is_finished = true;
  for (int i = 0; i < count; ++i) {
    CompletionOutput& answer = output.outputs.emplace_back();
    answer.index = i;
    answer.finish_reason = FinishReason::kAbort;
  }
  return output;
}

// Of a prompt that never came to the scheduler.
RequestOutput LastOutput(std::string request_id, Status error) {
  RequestOutput output;
  output.request_id = std::move(request_id);
  output.is_finished = true;
  output.error = std::move(error);
  return output;
}

EngineMetrics::Options MetricsOptions(const AsyncOptions& options, const ModelFacts& facts) {
  return {.model_name = options.served_name.empty() ? facts.path : options.served_name,
          .num_traces = options.num_traces};
}

}  // namespace

struct AsyncEngine::State {
  State(const EngineConfig& engine_config, const AsyncOptions& async_options)
      : config(engine_config),
        options(async_options),
        submitted(options.max_queued),
        submitted_long(options.max_queued),
        compiling(options.max_queued),
        inbox(options.max_queued),
        output(live, inbox) {}

  using Loader = std::function<Result<EngineParts>()>;
  Status Start(Loader loader);

  // Callers.
  void Call(std::function<Status(EngineCore&)> run, CallOutcome done);

  // Input threads.
  void RunInput(MessageQueue<SubmittedPrompt>& prompts);
  Result<bool> Prepare(SubmittedPrompt& prompt, PreparedPrompt& prepared) const;
  void HandOn(PreparedPrompt& prepared);
  void Defer(PreparedPrompt& prepared);  // until its grammar is compiled
  // Threads for grammars, so that a slow one holds up no prompt without.
  void RunCompiler();
  Status Compile(PreparedPrompt& prepared) const;
  void EndPrompt(RequestOutput output, OutputSink sink);

  // Engine thread.
  void RunEngine(const Loader& loader, std::promise<Status>& started);
  void Loop();
  void BeginOrEnd(PreparedPrompt& prompt);
  void Begin(PreparedPrompt& prompt);
  Status AddRequests(std::vector<EngineRequest>& requests);
  void Abort(RequestRange requests);
  void Run(EngineCall& call);
  void Step();
  void NoteStep(std::span<const EngineCoreOutput> outputs);
  void Give(std::span<const EngineCoreOutput> outputs);
  void Recover(const Status& status);
  bool Restart();
  void Fail(Status status);

  const EngineConfig config;
  const AsyncOptions options;
  EngineParts parts;  // set before Start returns; core is the engine thread's alone
  std::optional<EngineMetrics> metrics;  // as parts
  LivePrompts live;
  MessageQueue<SubmittedPrompt> submitted;       // ids, and texts that are read at once
  MessageQueue<SubmittedPrompt> submitted_long;  // texts that take a while
  MessageQueue<PreparedPrompt> compiling;        // prompts that wait for their grammar
  EngineInbox inbox;

  mutable Mutex mutex;
  EngineStats stats QUIRE_GUARDED_BY(mutex);

  std::optional<Status> failure;  // of the engine thread alone
  int num_restarts_in_a_row = 0;
  std::int64_t num_steps_since_restart = 0;
  std::atomic<bool> is_paused = false;
  std::atomic<bool> is_healthy = true;
  OutputThread output;
  std::vector<std::jthread> input_threads;
  std::vector<std::jthread> compiler_threads;
  std::jthread engine_thread;
};

Status AsyncEngine::State::Start(Loader loader) {
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  engine_thread =
      std::jthread([this, loader = std::move(loader), promise = std::move(started)]() mutable {
        RunEngine(loader, promise);
      });
  QUIRE_RETURN_IF_ERROR(outcome.get());
  for (int i = 0; i < std::max(1, options.input_threads); ++i) {
    input_threads.emplace_back([this] { RunInput(submitted); });
  }
  input_threads.emplace_back([this] { RunInput(submitted_long); });
  const unsigned num_compilers = std::clamp(std::thread::hardware_concurrency() / 2, 1U, 4U);
  for (unsigned i = 0; i < num_compilers; ++i) {
    compiler_threads.emplace_back([this] { RunCompiler(); });
  }
  return {};
}

// Input threads

void AsyncEngine::State::RunInput(MessageQueue<SubmittedPrompt>& prompts) {
  while (auto prompt = prompts.Pop()) {
    if (live.IsAborted(prompt->request_id)) {
      EndPrompt(AbortedOutput(std::move(prompt->request_id), prompt->admission.requests.count),
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
      EndPrompt(LastOutput(std::move(prompt->request_id), lacks_grammar.status()),
                std::move(prompt->sink));
    } else if (!*lacks_grammar) {
      HandOn(prepared);
    } else {
      Defer(prepared);
    }
  }
}

void AsyncEngine::State::Defer(PreparedPrompt& prepared) {
  const auto count = static_cast<int>(prepared.requests.size());
  metrics->NoteDeferred(count);  // before a compiler can take it and note its end
  if (compiling.TryPush(prepared)) return;
  metrics->NoteDeferred(-count);
  EndPrompt(LastOutput(prepared.record->request_id(),
                       ResourceExhausted("too many grammars are waiting to be compiled; try again "
                                         "later")),
            std::move(prepared.sink));
}

void AsyncEngine::State::HandOn(PreparedPrompt& prepared) {
  if (inbox.PushPrompt(prepared)) return;
  EndPrompt(prepared.record->Fail(ShuttingDown()), std::move(prepared.sink));
}

void AsyncEngine::State::RunCompiler() {
  while (auto prepared = compiling.Pop()) {
    const auto count = static_cast<int>(prepared->requests.size());
    Status status;
    try {
      status = Compile(*prepared);
    } catch (const std::exception& error) {
      status = Internal(StrCat("compiling the grammar: ", error.what()));
    }
    metrics->NoteDeferred(-count);
    if (status.ok()) {
      HandOn(*prepared);
    } else {
      EndPrompt(LastOutput(prepared->record->request_id(), std::move(status)),
                std::move(prepared->sink));
    }
  }
}

Status AsyncEngine::State::Compile(PreparedPrompt& prepared) const {
  if (submitted.is_closed()) return ShuttingDown();
  QUIRE_RETURN_IF_ERROR(parts.input->CompileGrammar(prepared.requests.front()));
  const EngineRequest& first = prepared.requests.front();
  for (EngineRequest& request : prepared.requests) request.grammar = first.grammar;
  prepared.record->Warn(first.warning);
  return {};
}

// Gives whether a grammar must still be compiled.
Result<bool> AsyncEngine::State::Prepare(SubmittedPrompt& prompt, PreparedPrompt& prepared) const {
  if (submitted.is_closed()) return ShuttingDown();
  const auto begin = std::chrono::steady_clock::now();
  QUIRE_ASSIGN_OR_RETURN(EngineRequest request,
                         parts.input->Prepare(std::move(prompt.input), prompt.admission.number));
  request.arrival = prompt.arrival;
  if (options.on_prompt) options.on_prompt(prompt.request_id, request);
  const bool lacks_grammar = parts.input->LacksGrammar(request);
  prepared.requests = FanOut(std::move(request), prompt.admission.requests.first);
  QUIRE_ASSIGN_OR_RETURN(prepared.record,
                         PromptRecord::Create(parts.tokenizer.get(), prompt.request_id,
                                              prepared.requests, config.scheduler.stream_interval));
  prepared.sink = std::move(prompt.sink);
  prepared.record->NoteTokenized(begin, std::chrono::steady_clock::now());
  return lacks_grammar;
}

void AsyncEngine::State::EndPrompt(RequestOutput last, OutputSink sink) {
  output.Push(EndedPrompt{.output = std::move(last), .sink = std::move(sink)});
}

// Engine thread

void AsyncEngine::State::RunEngine(const Loader& loader, std::promise<Status>& started) {
  try {
    Result<EngineParts> loaded = loader();
    if (!loaded.ok()) return started.set_value(loaded.status());
    parts = *std::move(loaded);
    metrics.emplace(MetricsOptions(options, parts.facts), config, parts.facts,
                    parts.decisions.plan);
    output.Observe(*metrics, options.log_interval);
  } catch (const std::exception& error) {
    return started.set_value(Internal(StrCat("loading the model: ", error.what())));
  }
  started.set_value(Status());
  Loop();
}

void AsyncEngine::State::Loop() {
  EngineInbox::Contents contents;
  while (true) {
    const bool is_idle = failure || is_paused || !parts.core->has_unfinished();
    inbox.Take(is_idle, contents);
    for (PreparedPrompt& prompt : contents.prompts) {
      if (contents.is_closed) {
        EndPrompt(prompt.record->Fail(ShuttingDown()), std::move(prompt.sink));
      } else {
        BeginOrEnd(prompt);
      }
    }
    for (EngineCall& call : contents.calls) Run(call);
    if (contents.is_closed) break;
    for (const RequestRange requests : contents.aborts) Abort(requests);
    if (failure) continue;
    try {
      Step();
    } catch (const std::exception& error) {
      Recover(Internal(StrCat("a step failed: ", error.what())));
    }
  }
  is_healthy = false;
  if (!failure) output.Push(EngineFailure{.status = ShuttingDown()});
}

void AsyncEngine::State::BeginOrEnd(PreparedPrompt& prompt) {
  const RequestRange requests = {.first = prompt.requests.front().id,
                                 .count = static_cast<int>(prompt.requests.size())};
  try {
    Begin(prompt);
  } catch (const std::exception& error) {
    if (prompt.record == nullptr) return;
    Abort(requests);
    EndPrompt(prompt.record->Fail(Internal(StrCat("the prompt could not begin: ", error.what()))),
              std::move(prompt.sink));
  }
}

void AsyncEngine::State::Begin(PreparedPrompt& prompt) {
  if (failure) return EndPrompt(prompt.record->Fail(*failure), std::move(prompt.sink));
  if (live.IsAborted(prompt.record->request_id())) {
    return EndPrompt(prompt.record->Fail(Status()), std::move(prompt.sink));
  }
  if (Status status = AddRequests(prompt.requests); !status.ok()) {
    if (status.code() == Code::kResourceExhausted) metrics->NoteQueueFull();
    return EndPrompt(LastOutput(prompt.record->request_id(), std::move(status)),
                     std::move(prompt.sink));
  }
  prompt.record->NoteQueued(std::chrono::steady_clock::now());
  output.Push(BegunPrompt{.record = std::move(prompt.record), .sink = std::move(prompt.sink)});
}

Status AsyncEngine::State::AddRequests(std::vector<EngineRequest>& requests) {
  const RequestId first = requests.front().id;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Status status = parts.core->Add(std::move(requests[i]));
    if (status.ok()) continue;
    Abort({.first = first, .count = static_cast<int>(i)});
    return status;
  }
  return {};
}

void AsyncEngine::State::Abort(RequestRange requests) {
  if (failure) return;
  for (int i = 0; i < requests.count; ++i) {
    parts.core->Abort(RequestId(requests.first.value() + i));
  }
}

void AsyncEngine::State::Run(EngineCall& call) {
  Status outcome;
  if (failure) {
    outcome = Status(Code::kUnavailable, StrCat("the engine has failed: ", failure->message()));
  } else {
    try {
      outcome = call.run(*parts.core);
    } catch (const std::exception& error) {
      outcome = Internal(StrCat("a call of the engine failed: ", error.what()));
    }
    is_paused = parts.core->scheduler().is_paused();
  }
  output.Push(CallDone{.done = std::move(call.done), .outcome = std::move(outcome)});
}

void AsyncEngine::State::Step() {
  const auto outputs = parts.core->Step();
  if (!outputs.ok()) return Recover(outputs.status());
  ++num_steps_since_restart;
  NoteStep(*outputs);  // first, so that who hears the outputs sees the numbers that go with them
  Give(*outputs);
}

void AsyncEngine::State::NoteStep(std::span<const EngineCoreOutput> outputs) {
  std::int64_t num_generated = 0;
  for (const EngineCoreOutput& out : outputs) {
    num_generated += static_cast<std::int64_t>(out.new_tokens.size());
  }
  MutexLock lock(mutex);
  const StepReport& report = parts.core->last_report();
  stats.scheduler = report.scheduler;
  stats.timing = report.timing;
  ++stats.num_steps;
  stats.num_computed_tokens += report.num_tokens;
  stats.num_generated_tokens += num_generated;
}

void AsyncEngine::State::Give(std::span<const EngineCoreOutput> outputs) {
  const auto admitted = parts.core->last_admitted();
  const auto prefills = parts.core->last_prefills();
  StepOutputs step = {.report = parts.core->last_report(),
                      .admitted = {admitted.begin(), admitted.end()},
                      .prefills = {prefills.begin(), prefills.end()},
                      .outputs = {outputs.begin(), outputs.end()}};
  for (EngineCoreOutput& other : parts.core->TakeOutputs()) {
    step.outputs.push_back(std::move(other));
  }
  output.Push(std::move(step));
}

// Every prompt that has begun ends with `status`; then the engine goes on, or it has failed.
void AsyncEngine::State::Recover(const Status& status) {
  is_healthy = false;
  QUIRE_LOG(kError) << "a step has failed: " << status.message();
  if (num_steps_since_restart >= kStepsToForgiveRestarts) num_restarts_in_a_row = 0;
  // Whoever hears of the last failure and asks again is refused already.
  if (num_restarts_in_a_row >= options.max_restarts) Fail(status);
  output.Push(EngineFailure{.status = status});
  while (num_restarts_in_a_row < options.max_restarts) {
    ++num_restarts_in_a_row;
    num_steps_since_restart = 0;
    if (!Restart()) continue;
    is_healthy = true;
    return Give({});  // for those who count: nothing runs now
  }
  if (!failure) Fail(status);
}

bool AsyncEngine::State::Restart() {
  Status status;
  try {
    status = parts.core->Restart();
  } catch (const std::exception& error) {
    status = Internal(error.what());
  }
  if (!status.ok()) {
    QUIRE_LOG(kError) << "the engine could not start again: " << status.message();
    return false;
  }
  QUIRE_LOG(kWarning) << "the engine has started again, " << num_restarts_in_a_row << " of at most "
                      << options.max_restarts << " times in a row";
  metrics->NoteRestart();
  MutexLock lock(mutex);
  ++stats.num_restarts;
  stats.scheduler = parts.core->stats();
  return true;
}

void AsyncEngine::State::Fail(Status status) {
  is_healthy = false;
  QUIRE_LOG(kError) << "the engine stops: " << status.message();
  live.Refuse(Status(Code::kUnavailable, StrCat("the engine has failed: ", status.message())));
  output.Push(StepOutputs());
  failure = std::move(status);
}

// Callers

AsyncEngine::AsyncEngine(std::unique_ptr<State> state) : state_(std::move(state)) {}
AsyncEngine::~AsyncEngine() { Shutdown(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<AsyncEngine>> AsyncEngine::Create(const EngineConfig& config,
                                                         const AsyncOptions& options,
                                                         const LoadProgress& progress) {
  std::unique_ptr<AsyncEngine> engine(new AsyncEngine(std::make_unique<State>(config, options)));
  QUIRE_RETURN_IF_ERROR(
      engine->state_->Start([&config, &progress] { return LoadEngine(config, progress); }));
  return engine;
}

Result<std::unique_ptr<AsyncEngine>> AsyncEngine::CreateOver(
    const EngineConfig& config, const AsyncOptions& options, const ExecutorFactory& make_executor,
    std::shared_ptr<const Tokenizer> tokenizer) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  const auto load = [&]() -> Result<EngineParts> {
    QUIRE_ASSIGN_OR_RETURN(auto executor, make_executor());
    return AssembleEngine(config, ReadMachineMemory(), std::move(executor), std::move(tokenizer));
  };
  std::unique_ptr<AsyncEngine> engine(new AsyncEngine(std::make_unique<State>(config, options)));
  QUIRE_RETURN_IF_ERROR(engine->state_->Start(load));
  return engine;
}

const ModelFacts& AsyncEngine::facts() const { return state_->parts.facts; }
const EngineDecisions& AsyncEngine::decisions() const { return state_->parts.decisions; }
bool AsyncEngine::has_tokenizer() const { return state_->parts.tokenizer != nullptr; }
const Tokenizer& AsyncEngine::tokenizer() const {
  QUIRE_CHECK(has_tokenizer()) << "the model has no tokenizer";
  return *state_->parts.tokenizer;
}
const SamplingParams& AsyncEngine::sampling_defaults() const {
  return state_->parts.sampling_defaults;
}

const std::vector<TokenId>& AsyncEngine::eos_token_ids() const {
  return state_->parts.eos_token_ids;
}

Status AsyncEngine::Submit(std::string request_id, PromptInput input, OutputSink sink) {
  // A count out of range is refused with the other parameters, by an input thread.
  const int count = std::clamp(input.sampling.n, 1, kMaxOutputs);
  QUIRE_ASSIGN_OR_RETURN(const auto admission, state_->live.Admit(request_id, count));
  SubmittedPrompt prompt = {.request_id = std::move(request_id),
                            .admission = admission,
                            .input = std::move(input),
                            .sink = std::move(sink),
                            .arrival = std::chrono::steady_clock::now()};
  if ((IsLong(prompt.input) ? state_->submitted_long : state_->submitted).TryPush(prompt))
    return {};
  state_->live.Remove(prompt.request_id);
  state_->live.NoteHeard();
  if (state_->submitted.is_closed()) return ShuttingDown();
  state_->metrics->NoteQueueFull();
  return ResourceExhausted("too many prompts are waiting to be read; try again later");
}

void AsyncEngine::Abort(const std::string& request_id) {
  const RequestRange requests = state_->live.Abort(request_id);
  if (requests.count > 0) state_->inbox.PushAbort(requests);
}

int AsyncEngine::AbortNamed(const std::string& name, bool with_namesakes) {
  const std::vector<RequestRange> aborted = state_->live.AbortNamed(name, with_namesakes);
  for (const RequestRange requests : aborted) state_->inbox.PushAbort(requests);
  return static_cast<int>(aborted.size());
}

void AsyncEngine::Drain() {
  constexpr auto kPatience = std::chrono::hours(1);  // between looks; there is no last one
  while (!state_->live.WaitUntilHeard(std::chrono::steady_clock::now() + kPatience)) {
  }
}

void AsyncEngine::Shutdown(std::chrono::milliseconds grace) {
  State& state = *state_;
  state.is_healthy = false;
  state.live.Refuse(ShuttingDown());
  if (grace.count() > 0) state.live.WaitUntilHeard(std::chrono::steady_clock::now() + grace);
  // From the first thread of a prompt's way to the last, so that each can still hand on.
  state.submitted.Close();
  state.submitted_long.Close();
  for (std::jthread& thread : state.input_threads) {
    if (thread.joinable()) thread.join();
  }
  state.compiling.Close();
  for (std::jthread& thread : state.compiler_threads) {
    if (thread.joinable()) thread.join();
  }
  state.inbox.Close();
  if (state.engine_thread.joinable()) state.engine_thread.join();
  state.output.Stop();
}

void AsyncEngine::State::Call(std::function<Status(EngineCore&)> run, CallOutcome done) {
  EngineCall call = {.run = std::move(run), .done = std::move(done)};
  if (inbox.PushCall(call)) return;
  if (!call.done) return;
  call.done(submitted.is_closed() ? ShuttingDown()
                                  : ResourceExhausted("too many calls wait for the engine"));
}

void AsyncEngine::Pause(PauseMode mode, CallOutcome done) {
  const auto pause = [mode](EngineCore& core) {
    core.scheduler().Pause(mode);
    return Status();
  };
  state_->Call(pause, std::move(done));
}

void AsyncEngine::Resume(CallOutcome done) {
  const auto resume = [](EngineCore& core) {
    core.scheduler().Resume();
    return Status();
  };
  state_->Call(resume, std::move(done));
}

bool AsyncEngine::is_healthy() const { return state_->is_healthy; }

bool AsyncEngine::is_paused() const { return state_->is_paused; }

void AsyncEngine::ResetPrefixCache(bool preempt_running, CallOutcome done) {
  const auto reset = [preempt_running](EngineCore& core) {
    Scheduler& scheduler = core.scheduler();
    if (preempt_running) scheduler.PreemptAll();
    if (scheduler.ResetPrefixCache()) return Status();
    return Status(Code::kFailedPrecondition,
                  "the prefix cache cannot be reset while requests hold KV blocks");
  };
  state_->Call(reset, std::move(done));
}

EngineMetrics& AsyncEngine::metrics() { return *state_->metrics; }

EngineStats AsyncEngine::stats() const {
  const EndCounts ends = state_->output.counts();
  MutexLock lock(state_->mutex);
  EngineStats stats = state_->stats;
  stats.num_finished = ends.num_finished;
  stats.num_aborted = ends.num_aborted;
  stats.num_failed = ends.num_failed;
  return stats;
}

std::size_t AsyncEngine::num_live() const { return state_->live.num_unheard(); }

}  // namespace quire
