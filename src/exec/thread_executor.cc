#include "exec/thread_executor.h"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "step/wire.h"

namespace quire {
namespace {

using WorkerCall = std::function<Status(Executor& executor)>;

// A thread that owns an executor and does one call after another.
class Worker {
 public:
  ~Worker() {
    if (!thread_.joinable()) return;
    {
      MutexLock lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
  }

  Status Start(const ExecutorFactory& make_executor) {
    thread_ = std::jthread([this, &make_executor] { Run(make_executor); });
    return Wait();
  }

  // Has `call` run on the worker's thread, once what was posted before has; it lives until Wait.
  void Post(const WorkerCall& call) {
    {
      MutexLock lock(mutex_);
      while (!outcome_) changed_.wait(mutex_);
      call_ = &call;
      outcome_.reset();
    }
    changed_.notify_all();
  }

  // The outcome of the last call that was posted.
  Status Wait() {
    MutexLock lock(mutex_);
    while (!outcome_) changed_.wait(mutex_);
    return *outcome_;
  }

  Status Do(const WorkerCall& call) {
    Post(call);
    return Wait();
  }

 private:
  void Finish(Status outcome) {
    {
      MutexLock lock(mutex_);
      call_ = nullptr;
      outcome_ = std::move(outcome);
    }
    changed_.notify_all();
  }

  const WorkerCall* NextCall() {
    MutexLock lock(mutex_);
    while (call_ == nullptr && !is_stopping_) changed_.wait(mutex_);
    return is_stopping_ ? nullptr : call_;
  }

  void Run(const ExecutorFactory& make_executor) {
    std::unique_ptr<Executor> executor;
    Finish(Guard([&] {
      auto made = make_executor();
      if (!made.ok()) return made.status();
      executor = *std::move(made);
      return Status();
    }));
    if (executor == nullptr) return;
    while (const WorkerCall* call = NextCall()) {
      Finish(Guard([&] { return (*call)(*executor); }));
    }
  }

  template <typename F>
  static Status Guard(const F& function) {
    try {
      return function();
    } catch (const std::exception& error) {
      return Internal(std::string("the worker failed: ") + error.what());
    }
  }

  Mutex mutex_;
  CondVar changed_;
  const WorkerCall* call_ QUIRE_GUARDED_BY(mutex_) = nullptr;
  std::optional<Status> outcome_ QUIRE_GUARDED_BY(mutex_);
  bool is_stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

class ThreadExecutor : public Executor {
 public:
  Status Start(const ExecutorFactory& make_executor) {
    QUIRE_RETURN_IF_ERROR(worker_.Start(make_executor));
    return worker_.Do([this](Executor& executor) {
      facts_ = executor.facts();
      return Status();
    });
  }

  const ModelFacts& facts() const override { return facts_; }

  Status InitKvCache(const KvCachePlan& plan) override {
    return worker_.Do([plan](Executor& executor) { return executor.InitKvCache(plan); });
  }

  bool computes_aside() const override { return true; }

  // What the worker's Begin fails with is told by Finish.
  Status Begin(const StepPlan& plan) override {
    EncodePlan(plan, plan_bytes_);
    worker_.Post(begin_);
    return {};
  }

  Status Finish(const StepPlan& /*plan*/, const StepMasks& masks, StepResult& out) override {
    EncodeMasks(masks, masks_bytes_);
    QUIRE_RETURN_IF_ERROR(worker_.Wait());
    QUIRE_RETURN_IF_ERROR(worker_.Do(finish_));
    return DecodeResult(result_bytes_, out);
  }

  Status Reset() override {
    return worker_.Do([](Executor& executor) { return executor.Reset(); });
  }

  Status EvaluateLogits(
      std::span<const TokenId> ids,
      const std::function<void(std::int64_t row, std::span<const float>)>& consume) override {
    return worker_.Do([&](Executor& executor) { return executor.EvaluateLogits(ids, consume); });
  }

 private:
  // Both on the worker's thread.
  Status BeginThere(Executor& executor) {
    QUIRE_RETURN_IF_ERROR(DecodePlan(plan_bytes_, plan_));
    return executor.Begin(plan_);
  }
  Status FinishThere(Executor& executor) {
    QUIRE_RETURN_IF_ERROR(DecodeMasks(masks_bytes_, masks_));
    QUIRE_RETURN_IF_ERROR(executor.Finish(plan_, masks_, result_));
    EncodeResult(result_, result_bytes_);
    return {};
  }

  const WorkerCall begin_ = [this](Executor& executor) { return BeginThere(executor); };
  const WorkerCall finish_ = [this](Executor& executor) { return FinishThere(executor); };
  ModelFacts facts_;
  std::vector<std::uint8_t> plan_bytes_;
  std::vector<std::uint8_t> masks_bytes_;
  std::vector<std::uint8_t> result_bytes_;
  // Of the worker.
  StepPlan plan_;
  StepMasks masks_;
  StepResult result_;
  Worker worker_;  // last, so that its thread ends before what it uses
};

}  // namespace

Result<std::unique_ptr<Executor>> CreateThreadExecutor(const ExecutorFactory& make_executor) {
  auto executor = std::make_unique<ThreadExecutor>();
  QUIRE_RETURN_IF_ERROR(executor->Start(make_executor));
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace quire
