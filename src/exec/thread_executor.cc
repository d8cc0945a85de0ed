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

  // Runs `call` on the worker's thread and waits for it.
  Status Do(const WorkerCall& call) {
    {
      MutexLock lock(mutex_);
      call_ = &call;
      outcome_.reset();
    }
    changed_.notify_all();
    return Wait();
  }

 private:
  Status Wait() {
    MutexLock lock(mutex_);
    while (!outcome_) changed_.wait(mutex_);
    return *outcome_;
  }

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

  Status Execute(const StepPlan& plan, StepResult& out) override {
    EncodePlan(plan, plan_bytes_);
    QUIRE_RETURN_IF_ERROR(worker_.Do([this](Executor& executor) { return Step(executor); }));
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
  // On the worker's thread.
  Status Step(Executor& executor) {
    QUIRE_RETURN_IF_ERROR(DecodePlan(plan_bytes_, plan_));
    QUIRE_RETURN_IF_ERROR(executor.Execute(plan_, result_));
    EncodeResult(result_, result_bytes_);
    return {};
  }

  ModelFacts facts_;
  std::vector<std::uint8_t> plan_bytes_;
  std::vector<std::uint8_t> result_bytes_;
  StepPlan plan_;      // of the worker
  StepResult result_;  // of the worker
  Worker worker_;      // last, so that its thread ends before what it uses
};

}  // namespace

Result<std::unique_ptr<Executor>> CreateThreadExecutor(const ExecutorFactory& make_executor) {
  auto executor = std::make_unique<ThreadExecutor>();
  QUIRE_RETURN_IF_ERROR(executor->Start(make_executor));
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace quire
