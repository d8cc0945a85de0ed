// A mutex that clang's thread-safety analysis can see, and the attributes it needs.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define QUIRE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define QUIRE_THREAD_ATTRIBUTE(x)
#endif

#define QUIRE_CAPABILITY(x) QUIRE_THREAD_ATTRIBUTE(capability(x))
#define QUIRE_SCOPED_CAPABILITY QUIRE_THREAD_ATTRIBUTE(scoped_lockable)
#define QUIRE_GUARDED_BY(x) QUIRE_THREAD_ATTRIBUTE(guarded_by(x))
#define QUIRE_REQUIRES(...) QUIRE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define QUIRE_ACQUIRE(...) QUIRE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define QUIRE_RELEASE(...) QUIRE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define QUIRE_EXCLUDES(...) QUIRE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define QUIRE_NO_THREAD_ANALYSIS QUIRE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace quire {

class QUIRE_CAPABILITY("mutex") Mutex {
 public:
  void Lock() QUIRE_ACQUIRE() { mutex_.lock(); }
  void Unlock() QUIRE_RELEASE() { mutex_.unlock(); }

  // For std::condition_variable_any, which calls them by these names.
  void lock() QUIRE_ACQUIRE() { mutex_.lock(); }      // NOLINT(readability-identifier-naming)
  void unlock() QUIRE_RELEASE() { mutex_.unlock(); }  // NOLINT(readability-identifier-naming)

 private:
  std::mutex mutex_;
};

class QUIRE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) QUIRE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() QUIRE_RELEASE() { mutex_.Unlock(); }

 private:
  Mutex& mutex_;
};

// Waits with a Mutex held; wake-ups may be spurious, so callers loop on their condition.
using CondVar = std::condition_variable_any;

}  // namespace quire
