// Streams two answers at once and ends one of them early.
//
//   stream MODEL
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "quire/engine.h"

int main(int argc, char** argv) {
  using namespace quire::api;
  if (argc < 2) {
    std::fprintf(stderr, "usage: stream MODEL\n");
    return 2;
  }
  auto engine = AsyncEngine::Create(argv[1]);
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().message().c_str());
    return 1;
  }
  std::mutex mutex;
  std::condition_variable changed;
  int num_finished = 0;
  int num_tokens = 0;
  // Called on a thread of the engine, one output after another.
  const auto hear = [&](const Output& output) {
    const std::lock_guard lock(mutex);
    for (const Completion& answer : output.completions) {
      std::printf("%s: %s\n", output.request_id.c_str(), answer.text.c_str());
      num_tokens += static_cast<int>(answer.token_ids.size());
    }
    if (output.is_finished) ++num_finished;
    changed.notify_all();
  };
  const auto sampling = Options().Set("max_tokens", 12).Set("ignore_eos", true);
  for (const char* id : {"first", "second"}) {
    const Status status = engine->Submit(id, "Once upon a time", sampling, hear);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return num_tokens >= 4; });
  lock.unlock();
  engine->Abort("second");
  lock.lock();
  changed.wait(lock, [&] { return num_finished == 2; });
  return 0;
}
