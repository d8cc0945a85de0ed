// The prompts of one HTTP request on their way through the engine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/async_engine.h"
#include "engine/prompt.h"
#include "request/request.h"
#include "server/http.h"

namespace quire {

// Hears what the engine makes of the prompts. One call at a time; Finish or Fail is the last.
class PromptListener {
 public:
  virtual ~PromptListener() = default;

  // An output of prompt `index`, without an error. False: nobody wants more, and the prompts are
  // ended.
  virtual bool Hear(std::size_t index, RequestOutput output) = 0;
  // Every prompt has come to its end.
  virtual void Finish() = 0;
  // One of the prompts was refused or failed; the others are ended.
  virtual void Fail(const Status& error) = 0;
};

// The ids of prompts that are in the engine. Any thread.
class LiveIds {
 public:
  // `id`, or where a prompt has it already, one that begins with it.
  std::string Take(const std::string& id) QUIRE_EXCLUDES(mutex_);
  void Give(const std::string& id) QUIRE_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::unordered_set<std::string> ids_ QUIRE_GUARDED_BY(mutex_);
};

// Where prompts go, and who waits for them.
struct PromptPlace {
  std::shared_ptr<AsyncEngine> engine;
  LiveIds* ids = nullptr;
  HttpReply* reply = nullptr;  // null: nobody, it goes on in the background
};

// Any thread. Lives while the engine or the connection knows it.
class PromptRun : public std::enable_shared_from_this<PromptRun> {
 public:
  // Gives the prompts to the engine, a bounded number at a time: under `id` where there is one,
  // else under `id`-0, `id`-1, …. When the client behind the reply leaves, they are ended and the
  // listener hears nothing more.
  static std::shared_ptr<PromptRun> Start(const PromptPlace& place, const std::string& id,
                                          std::vector<PromptInput> inputs,
                                          std::unique_ptr<PromptListener> listener);

  // Ends every prompt; the listener hears nothing more.
  void Cancel() QUIRE_EXCLUDES(mutex_);

 private:
  PromptRun(const PromptPlace& place, std::string id, std::vector<PromptInput> inputs,
            std::unique_ptr<PromptListener> listener);
  void SubmitMore() QUIRE_EXCLUDES(mutex_);
  void Hear(std::size_t index, RequestOutput output) QUIRE_EXCLUDES(mutex_);
  void Fail(const Status& error) QUIRE_EXCLUDES(mutex_);
  void EndPrompts() QUIRE_REQUIRES(mutex_);

  // Whoever owns the engine shuts it down first, which waits for the thread that calls Hear.
  const std::weak_ptr<AsyncEngine> engine_;
  LiveIds& ids_;
  const std::string id_;
  HttpReply* const reply_;  // may be null; lives as long as the listener

  Mutex mutex_;
  std::vector<PromptInput> inputs_ QUIRE_GUARDED_BY(mutex_);
  std::vector<std::string> live_ids_ QUIRE_GUARDED_BY(mutex_);  // "": not begun, or over
  std::unique_ptr<PromptListener> listener_ QUIRE_GUARDED_BY(mutex_);
  std::size_t next_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::size_t num_live_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::size_t num_done_ QUIRE_GUARDED_BY(mutex_) = 0;
  bool has_warned_ QUIRE_GUARDED_BY(mutex_) = false;
  bool is_over_ QUIRE_GUARDED_BY(mutex_) = false;
};

}  // namespace quire
