#include "server/work_pool.h"

#include <algorithm>
#include <exception>

#include "base/log.h"

namespace quire {

WorkPool::WorkPool(int num_threads, std::size_t max_queued) : queue_(max_queued) {
  for (int i = 0; i < std::max(1, num_threads); ++i) threads_.emplace_back([this] { Run(); });
}

WorkPool::~WorkPool() { queue_.Close(); }

bool WorkPool::TryPost(std::function<void()> work) { return queue_.TryPush(work); }

void WorkPool::Run() {
  while (auto work = queue_.Pop()) {
    try {
      (*work)();
    } catch (const std::exception& error) {
      QUIRE_LOG(kError) << "a request failed: " << error.what();
    }
  }
}

}  // namespace quire
