// Which prompts are alive, and which of them are to be ended: what callers, input threads, engine
// thread and output thread share.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/mutex.h"
#include "base/status.h"

namespace quire {

// The answers of one prompt: requests first, first + 1, …
struct RequestRange {
  RequestId first;
  int count = 0;
};

// Any thread.
class LivePrompts {
 public:
  // Gives the prompt its request ids and its number. kInvalidArgument when `request_id` is alive,
  // kUnavailable once Refuse() was called.
  struct Admission {
    RequestRange requests;
    std::uint64_t number = 0;
  };
  Result<Admission> Admit(const std::string& request_id, int count) QUIRE_EXCLUDES(mutex_);

  // The prompt has come to its end, and its name is free again.
  void Remove(const std::string& request_id) QUIRE_EXCLUDES(mutex_);
  // Its last output has been heard, or will never be.
  void NoteHeard() QUIRE_EXCLUDES(mutex_);

  // Marks the prompt as aborted and gives its requests; count 0 for an unknown one.
  RequestRange Abort(const std::string& request_id) QUIRE_EXCLUDES(mutex_);
  // The same for every prompt of a caller that named its request so: `name`, `name`-0, `name`-1, …;
  // `with_namesakes` also those whose name was taken: `name`- and 16 hexadecimal digits.
  std::vector<RequestRange> AbortNamed(const std::string& name, bool with_namesakes)
      QUIRE_EXCLUDES(mutex_);
  bool IsAborted(const std::string& request_id) const QUIRE_EXCLUDES(mutex_);

  // From now on Admit fails with `why`.
  void Refuse(Status why) QUIRE_EXCLUDES(mutex_);

  // Admitted prompts whose last output has not been heard.
  std::size_t num_unheard() const QUIRE_EXCLUDES(mutex_);
  // Waits until there are none; false at the deadline.
  bool WaitUntilHeard(std::chrono::steady_clock::time_point deadline) QUIRE_EXCLUDES(mutex_);

 private:
  struct Live {
    RequestRange requests;
    bool is_aborted = false;
  };
  mutable Mutex mutex_;
  CondVar all_heard_;
  std::unordered_map<std::string, Live> live_ QUIRE_GUARDED_BY(mutex_);
  std::int64_t next_request_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::size_t num_unheard_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_number_ QUIRE_GUARDED_BY(mutex_) = 0;
  Status refusal_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
