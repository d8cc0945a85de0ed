#include "server/generation.h"

#include <utility>

#include "base/strings.h"
#include "server/api_state.h"

namespace quire {
namespace {

// Prompts of one request in the engine at once, so that a long list leaves room in its queue.
constexpr std::size_t kMaxLive = 128;

}  // namespace

Generation::Generation(const std::shared_ptr<AsyncEngine>& engine, std::string id,
                       std::vector<PromptInput> inputs,
                       std::unique_ptr<GenerationListener> listener)
    : engine_(engine),
      id_(std::move(id)),
      inputs_(std::move(inputs)),
      live_ids_(inputs_.size()),
      listener_(std::move(listener)) {}

std::shared_ptr<Generation> Generation::Start(const std::shared_ptr<AsyncEngine>& engine,
                                              const std::string& id,
                                              std::vector<PromptInput> inputs,
                                              std::unique_ptr<GenerationListener> listener,
                                              HttpReply* reply) {
  std::shared_ptr<Generation> generation(
      new Generation(engine, id, std::move(inputs), std::move(listener)));
  if (reply != nullptr) {
    reply->OnClientGone([weak = std::weak_ptr<Generation>(generation)] {
      if (const auto strong = weak.lock()) strong->Cancel();
    });
  }
  generation->SubmitMore();
  return generation;
}

void Generation::SubmitMore() {
  while (true) {
    std::size_t index = 0;
    std::string id;
    PromptInput input;
    {
      MutexLock lock(mutex_);
      if (is_over_ || next_ == inputs_.size() || num_live_ >= kMaxLive) return;
      index = next_++;
      ++num_live_;
      input = std::move(inputs_[index]);
      // Two requests may have the same id, if their clients chose it.
      id = live_ids_[index] = StrCat(id_, "-", FreshId());
    }
    const auto engine = engine_.lock();
    const Status status =
        engine == nullptr
            ? Status(Code::kUnavailable, "the engine is shutting down")
            : engine->Submit(id, std::move(input),
                             [self = shared_from_this(), index](RequestOutput output) {
                               self->Hear(index, std::move(output));
                             });
    if (!status.ok()) return Fail(status);
    // The client may have left while the prompt was no prompt of the engine yet.
    MutexLock lock(mutex_);
    if (is_over_) engine->Abort(id);
  }
}

void Generation::Hear(std::size_t index, RequestOutput output) {
  bool is_done = false;
  {
    MutexLock lock(mutex_);
    if (output.is_finished) {
      live_ids_[index].clear();
      --num_live_;
      ++num_done_;
      is_done = true;
    }
    if (is_over_) return;
    if (!output.error.ok()) {
      is_over_ = true;
      EndPrompts();
      return listener_->Fail(output.error);
    }
    if (!listener_->Hear(index, std::move(output))) {
      is_over_ = true;
      return EndPrompts();
    }
    if (num_done_ == inputs_.size()) {
      is_over_ = true;
      return listener_->Finish();
    }
  }
  if (is_done) SubmitMore();
}

void Generation::Fail(const Status& error) {
  MutexLock lock(mutex_);
  if (is_over_) return;
  is_over_ = true;
  EndPrompts();
  listener_->Fail(error);
}

void Generation::Cancel() {
  MutexLock lock(mutex_);
  if (is_over_) return;
  is_over_ = true;
  EndPrompts();
}

void Generation::EndPrompts() {
  const auto engine = engine_.lock();
  if (engine == nullptr) return;
  for (const std::string& id : live_ids_) {
    if (!id.empty()) engine->Abort(id);
  }
}

}  // namespace quire
