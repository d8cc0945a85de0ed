// Threads for what takes too long for a thread that serves sockets.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "engine/message_queue.h"

namespace quire {

// Any thread posts.
class WorkPool {
 public:
  WorkPool(int num_threads, std::size_t max_queued);
  ~WorkPool();  // works off what is queued

  // False when max_queued pieces of work wait already; `work` is then dropped.
  bool TryPost(std::function<void()> work);

 private:
  void Run();

  MessageQueue<std::function<void()>> queue_;
  std::vector<std::jthread> threads_;
};

}  // namespace quire
