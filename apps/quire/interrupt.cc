#include "apps/quire/interrupt.h"

#include <csignal>

#include <unistd.h>

#include "apps/quire/command.h"

namespace quire {

namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t interrupted = 0;

void OnSigint(int) {
  if (interrupted != 0) _exit(kExitInterrupted);
  interrupted = 1;
}

// Without SA_RESTART, so that a waiting read() comes back.
void SetHandler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = 0;
  SetHandler(OnSigint);
}

InterruptScope::~InterruptScope() { SetHandler(SIG_DFL); }

bool IsInterrupted() { return interrupted != 0; }

void ClearInterrupt() { interrupted = 0; }

}  // namespace quire
