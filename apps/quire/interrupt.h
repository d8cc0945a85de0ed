// Ctrl-C as a question that loops ask, instead of the end of the process.
#pragma once

namespace quire {

// While one lives, the first SIGINT only sets the flag that IsInterrupted() reads; a second one
// that comes before ClearInterrupt() ends the process with code 130. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();
};

bool IsInterrupted();
void ClearInterrupt();

}  // namespace quire
