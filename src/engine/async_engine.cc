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
#include "engine/input_threads.h"
#include "engine/live_prompts.h"
#include "engine/output_thread.h"

namespace quire {
namespace {

// After so many good steps a failure counts as the first one again.
constexpr std::int64_t kStepsToForgiveRestarts = 1000;

EngineMetrics::Options MetricsOptions(const AsyncOptions& options, const ModelFacts& facts) {
  return {.model_name = options.served_name.empty() ? facts.path : options.served_name,
          .num_traces = options.num_traces};
}

}  // namespace

struct AsyncEngine::State {
  State(const EngineConfig& engine_config, const AsyncOptions& async_options)
      : config(engine_config),
        options(async_options),
        inbox(options.max_queued),
        output(live, inbox) {}

  using Loader = std::function<Result<EngineParts>()>;
  Status Start(Loader loader);

  // Callers.
  void Call(std::function<Status(EngineCore&)> run, CallOutcome done);

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
  void EndPrompt(RequestOutput output, OutputSink sink);

  const EngineConfig config;
  const AsyncOptions options;
  EngineParts parts;  // set before Start returns; core is the engine thread's alone
  std::optional<EngineMetrics> metrics;  // as parts
  LivePrompts live;
  EngineInbox inbox;

  mutable Mutex mutex;
  EngineStats stats QUIRE_GUARDED_BY(mutex);

  std::optional<Status> failure;  // of the engine thread alone
  int num_restarts_in_a_row = 0;
  std::int64_t num_steps_since_restart = 0;
  std::atomic<bool> is_paused = false;
  std::atomic<bool> is_healthy = true;
  OutputThread output;
  std::unique_ptr<InputThreads> input;  // as parts
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
  const InputThreads::Options input_options = {.num_threads = options.input_threads,
                                               .max_queued = options.max_queued,
                                               .stream_interval = config.scheduler.stream_interval,
                                               .on_prompt = options.on_prompt};
  input = std::make_unique<InputThreads>(
      input_options, InputThreads::Neighbours{.processor = *parts.input,
                                              .tokenizer = parts.tokenizer.get(),
                                              .live = live,
                                              .inbox = inbox,
                                              .output = output,
                                              .metrics = *metrics});
  return {};
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
    return EndPrompt(LastOutput(prompt.record->request_id(), std::move(status)),
                     std::move(prompt.sink));
  }
  prompt.record->NoteQueued(std::chrono::steady_clock::now());
  output.Push(BegunPrompt{.record = std::move(prompt.record), .sink = std::move(prompt.sink)});
}

Status AsyncEngine::State::AddRequests(std::vector<EngineRequest>& requests) {
  const RequestId first = requests.front().id;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::optional<WaitingBound> met = parts.core->scheduler().BoundMetBy(requests[i]);
    Status status = parts.core->Add(std::move(requests[i]));
    if (status.ok()) continue;
    if (status.code() == Code::kResourceExhausted && met) metrics->NoteRefused(*met);
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
  if (state_->options.on_output) {
    sink = [state = state_.get(), sink = std::move(sink)](RequestOutput output) {
      state->options.on_output(output);
      sink(std::move(output));
    };
  }
  SubmittedPrompt prompt = {.request_id = std::move(request_id),
                            .admission = admission,
                            .input = std::move(input),
                            .sink = std::move(sink),
                            .arrival = std::chrono::steady_clock::now()};
  if (state_->input->TryPush(prompt)) return {};
  state_->live.Remove(prompt.request_id);
  state_->live.NoteHeard();
  if (state_->input->is_stopping()) return ShuttingDown();
  state_->metrics->NoteRefused(WaitingBound::kRequests);
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
  if (state.input != nullptr) state.input->Stop();
  state.inbox.Close();
  if (state.engine_thread.joinable()) state.engine_thread.join();
  state.output.Stop();
}

void AsyncEngine::State::Call(std::function<Status(EngineCore&)> run, CallOutcome done) {
  EngineCall call = {.run = std::move(run), .done = std::move(done)};
  if (inbox.PushCall(call)) return;
  if (!call.done) return;
  call.done(input->is_stopping() ? ShuttingDown()
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
