// Answers of /v1/responses that clients may come back to.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "formats/json.h"

namespace quire {

class PromptRun;
class ResponseEvents;

struct StoredResponse {
  std::string body;                        // the response object as JSON
  std::shared_ptr<const Json> messages;    // the chat up to and with the answer; null while it runs
  std::shared_ptr<ResponseEvents> events;  // null: they are not kept
  std::weak_ptr<PromptRun> run;            // of one that runs
  bool is_running = false;
};

// Bounded in number and bytes; the least recently used go first. Any thread.
class ResponseStore {
 public:
  ResponseStore(std::size_t max_count, std::size_t max_bytes)
      : max_count_(max_count), max_bytes_(max_bytes) {}

  void Put(const std::string& id, StoredResponse response) QUIRE_EXCLUDES(mutex_);
  // Replaces one that runs; false where it does not run any more, or is gone.
  bool Complete(const std::string& id, StoredResponse response) QUIRE_EXCLUDES(mutex_);
  void NoteRun(const std::string& id, const std::shared_ptr<PromptRun>& run) QUIRE_EXCLUDES(mutex_);
  std::optional<StoredResponse> Find(const std::string& id) QUIRE_EXCLUDES(mutex_);

 private:
  struct Entry {
    std::string id;
    StoredResponse response;
    std::size_t num_bytes = 0;
  };
  void PutLocked(const std::string& id, StoredResponse response) QUIRE_REQUIRES(mutex_);

  const std::size_t max_count_;
  const std::size_t max_bytes_;
  Mutex mutex_;
  std::list<Entry> entries_ QUIRE_GUARDED_BY(mutex_);  // the latest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_ QUIRE_GUARDED_BY(mutex_);
  std::size_t num_bytes_ QUIRE_GUARDED_BY(mutex_) = 0;
};

}  // namespace quire
