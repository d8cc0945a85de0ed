#include "engine/live_prompts.h"

#include <string_view>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

bool IsAllOf(std::string_view text, std::string_view bytes) {
  return !text.empty() && text.find_first_not_of(bytes) == std::string_view::npos;
}

bool IsNamed(std::string_view request_id, std::string_view name, bool with_namesakes) {
  if (!request_id.starts_with(name)) return false;
  std::string_view rest = request_id.substr(name.size());
  constexpr std::size_t kNamesakeBytes = 17;  // "-" and the digits
  const bool is_namesake = with_namesakes && rest.size() >= kNamesakeBytes && rest[0] == '-' &&
                           IsAllOf(rest.substr(1, 16), "0123456789abcdef");
  if (is_namesake) rest.remove_prefix(kNamesakeBytes);
  return rest.empty() ||
         (rest[0] == '-' && rest.size() < 8 && IsAllOf(rest.substr(1), "0123456789"));
}

}  // namespace

Result<LivePrompts::Admission> LivePrompts::Admit(const std::string& request_id, int count) {
  MutexLock lock(mutex_);
  QUIRE_RETURN_IF_ERROR(refusal_);
  const RequestRange requests = {.first = RequestId(next_request_), .count = count};
  if (!live_.try_emplace(request_id, Live{.requests = requests}).second) {
    return InvalidArgument(
        StrCat("request_id: \"", Printable(request_id), "\" belongs to a request that still runs"));
  }
  next_request_ += count;
  ++num_unheard_;
  return Admission{.requests = requests, .number = next_number_++};
}

void LivePrompts::Remove(const std::string& request_id) {
  MutexLock lock(mutex_);
  live_.erase(request_id);
}

void LivePrompts::NoteHeard() {
  bool is_last = false;
  {
    MutexLock lock(mutex_);
    is_last = --num_unheard_ == 0;
  }
  if (is_last) all_heard_.notify_all();
}

RequestRange LivePrompts::Abort(const std::string& request_id) {
  MutexLock lock(mutex_);
  const auto found = live_.find(request_id);
  if (found == live_.end()) return {};
  found->second.is_aborted = true;
  return found->second.requests;
}

std::vector<RequestRange> LivePrompts::AbortNamed(const std::string& name, bool with_namesakes) {
  std::vector<RequestRange> aborted;
  MutexLock lock(mutex_);
  for (auto& [request_id, live] : live_) {
    if (!IsNamed(request_id, name, with_namesakes)) continue;
    live.is_aborted = true;
    aborted.push_back(live.requests);
  }
  return aborted;
}

bool LivePrompts::IsAborted(const std::string& request_id) const {
  MutexLock lock(mutex_);
  const auto found = live_.find(request_id);
  return found != live_.end() && found->second.is_aborted;
}

void LivePrompts::Refuse(Status why) {
  MutexLock lock(mutex_);
  if (refusal_.ok()) refusal_ = std::move(why);
}

std::size_t LivePrompts::num_unheard() const {
  MutexLock lock(mutex_);
  return num_unheard_;
}

bool LivePrompts::WaitUntilHeard(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mutex_);
  while (num_unheard_ > 0) {
    if (all_heard_.wait_until(mutex_, deadline) == std::cv_status::timeout) {
      return num_unheard_ == 0;
    }
  }
  return true;
}

}  // namespace quire
