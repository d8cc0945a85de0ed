#include "engine/engine_inbox.h"

#include <utility>

namespace quire {

Status ShuttingDown() { return Status(Code::kUnavailable, "the engine is shutting down"); }

bool EngineInbox::PushPrompt(PreparedPrompt& prompt) {
  {
    MutexLock lock(mutex_);
    while (!contents_.is_closed && contents_.prompts.size() >= capacity_) changed_.wait(mutex_);
    if (contents_.is_closed) return false;
    contents_.prompts.push_back(std::move(prompt));
  }
  changed_.notify_all();
  return true;
}

void EngineInbox::PushAbort(RequestRange requests) {
  {
    MutexLock lock(mutex_);
    contents_.aborts.push_back(requests);
  }
  changed_.notify_all();
}

bool EngineInbox::PushCall(EngineCall& call) {
  {
    MutexLock lock(mutex_);
    if (contents_.is_closed || contents_.calls.size() >= capacity_) return false;
    contents_.calls.push_back(std::move(call));
  }
  changed_.notify_all();
  return true;
}

void EngineInbox::Close() {
  {
    MutexLock lock(mutex_);
    contents_.is_closed = true;
  }
  changed_.notify_all();
}

void EngineInbox::Take(bool may_wait, Contents& contents) {
  contents.prompts.clear();
  contents.aborts.clear();
  contents.calls.clear();
  {
    MutexLock lock(mutex_);
    while (may_wait && contents_.prompts.empty() && contents_.aborts.empty() &&
           contents_.calls.empty() && !contents_.is_closed) {
      changed_.wait(mutex_);
    }
    std::swap(contents.prompts, contents_.prompts);
    std::swap(contents.aborts, contents_.aborts);
    std::swap(contents.calls, contents_.calls);
    contents.is_closed = contents_.is_closed;
  }
  if (!contents.prompts.empty()) changed_.notify_all();
}

}  // namespace quire
