#include "server/response_store.h"

#include <utility>

#include "server/response_events.h"

namespace quire {
namespace {

// About what a JSON tree takes.
std::size_t SizeOf(const Json& value) {
  std::size_t size = sizeof(Json);
  if (value.is_string()) size += value.string().size();
  if (value.is_array()) {
    for (const Json& item : value.array()) size += SizeOf(item);
  }
  if (value.is_object()) {
    for (const auto& [name, item] : value.object()) size += name.size() + 32 + SizeOf(item);
  }
  return size;
}

}  // namespace

void ResponseStore::PutLocked(const std::string& id, StoredResponse response) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    num_bytes_ -= found->second->num_bytes;
    entries_.erase(found->second);
    by_id_.erase(found);
  }
  const std::size_t num_bytes = response.body.size() +
                                (response.messages == nullptr ? 0 : SizeOf(*response.messages)) +
                                (response.events == nullptr ? 0 : response.events->num_bytes());
  entries_.push_front({.id = id, .response = std::move(response), .num_bytes = num_bytes});
  by_id_[id] = entries_.begin();
  num_bytes_ += num_bytes;
  while (!entries_.empty() && (entries_.size() > max_count_ || num_bytes_ > max_bytes_)) {
    num_bytes_ -= entries_.back().num_bytes;
    by_id_.erase(entries_.back().id);
    entries_.pop_back();
  }
}

void ResponseStore::Put(const std::string& id, StoredResponse response) {
  MutexLock lock(mutex_);
  PutLocked(id, std::move(response));
}

bool ResponseStore::Complete(const std::string& id, StoredResponse response) {
  MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || !found->second->response.is_running) return false;
  PutLocked(id, std::move(response));
  return true;
}

void ResponseStore::NoteRun(const std::string& id, const std::shared_ptr<PromptRun>& run) {
  MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) found->second->response.run = run;
}

std::optional<StoredResponse> ResponseStore::Find(const std::string& id) {
  MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->response;
}

}  // namespace quire
