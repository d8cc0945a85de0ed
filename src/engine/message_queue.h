// A bounded queue of moved messages between threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace quire {

// Any thread. After Close() nothing more goes in; what is inside can still be taken out.
template <typename T>
class MessageQueue {
 public:
  explicit MessageQueue(std::size_t capacity) : capacity_(capacity) {}
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  // Puts `message` in if there is room; otherwise, or when closed, false, and it stays as it was.
  bool TryPush(T& message) QUIRE_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (is_closed_ || messages_.size() >= capacity_) return false;
      messages_.push_back(std::move(message));
    }
    changed_.notify_all();
    return true;
  }

  // Waits for room; false when closed.
  bool Push(T message) QUIRE_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      while (!is_closed_ && messages_.size() >= capacity_) changed_.wait(mutex_);
      if (is_closed_) return false;
      messages_.push_back(std::move(message));
    }
    changed_.notify_all();
    return true;
  }

  // Waits until Pop need not wait any more; false at the deadline.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline) QUIRE_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (messages_.empty() && !is_closed_) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) {
        return !messages_.empty() || is_closed_;
      }
    }
    return true;
  }

  // Waits for a message; nothing once the queue is closed and empty.
  std::optional<T> Pop() QUIRE_EXCLUDES(mutex_) {
    std::optional<T> message;
    {
      MutexLock lock(mutex_);
      while (messages_.empty() && !is_closed_) changed_.wait(mutex_);
      if (messages_.empty()) return std::nullopt;
      message.emplace(std::move(messages_.front()));
      messages_.pop_front();
    }
    changed_.notify_all();
    return message;
  }

  bool is_closed() const QUIRE_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return is_closed_;
  }

  void Close() QUIRE_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      is_closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<T> messages_ QUIRE_GUARDED_BY(mutex_);
  bool is_closed_ QUIRE_GUARDED_BY(mutex_) = false;
};

}  // namespace quire
