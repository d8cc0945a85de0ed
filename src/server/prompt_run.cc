#include "server/prompt_run.h"

#include <utility>

#include "base/strings.h"
#include "server/api_state.h"

namespace quire {
namespace {

// Prompts of one request in the engine at once, so that a long list leaves room in its queue.
constexpr std::size_t kMaxLive = 128;

}  // namespace

std::string LiveIds::Take(const std::string& id) {
  MutexLock lock(mutex_);
  std::string taken = id;
  while (!ids_.insert(taken).second) taken = StrCat(id, "-", FreshId());
  return taken;
}

void LiveIds::Give(const std::string& id) {
  MutexLock lock(mutex_);
  ids_.erase(id);
}

PromptRun::PromptRun(const PromptPlace& place, std::string id, std::vector<PromptInput> inputs,
                     std::unique_ptr<PromptListener> listener)
    : engine_(place.engine),
      ids_(*place.ids),
      id_(std::move(id)),
      reply_(place.reply),
      inputs_(std::move(inputs)),
      live_ids_(inputs_.size()),
      listener_(std::move(listener)) {}

std::shared_ptr<PromptRun> PromptRun::Start(const PromptPlace& place, const std::string& id,
                                            std::vector<PromptInput> inputs,
                                            std::unique_ptr<PromptListener> listener) {
  std::shared_ptr<PromptRun> run(new PromptRun(place, id, std::move(inputs), std::move(listener)));
  if (place.reply != nullptr) {
    place.reply->OnClientGone([weak = std::weak_ptr<PromptRun>(run)] {
      if (const auto strong = weak.lock()) strong->Cancel();
    });
  }
  run->SubmitMore();
  return run;
}

void PromptRun::SubmitMore() {
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
      id = live_ids_[index] = ids_.Take(inputs_.size() == 1 ? id_ : StrCat(id_, "-", index));
    }
    const auto engine = engine_.lock();
    const Status status =
        engine == nullptr
            ? Status(Code::kUnavailable, "the engine is shutting down")
            : engine->Submit(id, std::move(input),
                             [self = shared_from_this(), index](RequestOutput output) {
                               self->Hear(index, std::move(output));
                             });
    if (!status.ok()) {
      ids_.Give(id);
      return Fail(status);
    }
    // The client may have left while the prompt was no prompt of the engine yet.
    MutexLock lock(mutex_);
    if (is_over_) engine->Abort(id);
  }
}

void PromptRun::Hear(std::size_t index, RequestOutput output) {
  bool is_done = false;
  {
    MutexLock lock(mutex_);
    if (output.is_finished) {
      ids_.Give(live_ids_[index]);
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
    if (!output.warning.empty() && !has_warned_ && reply_ != nullptr) {
      has_warned_ = true;
      reply_->AddHeader(WarningHeader(output.warning));
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

void PromptRun::Fail(const Status& error) {
  MutexLock lock(mutex_);
  if (is_over_) return;
  is_over_ = true;
  EndPrompts();
  listener_->Fail(error);
}

void PromptRun::Cancel() {
  MutexLock lock(mutex_);
  if (is_over_) return;
  is_over_ = true;
  EndPrompts();
}

void PromptRun::EndPrompts() {
  const auto engine = engine_.lock();
  if (engine == nullptr) return;
  for (const std::string& id : live_ids_) {
    if (!id.empty()) engine->Abort(id);
  }
}

}  // namespace quire
