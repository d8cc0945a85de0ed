// Says whether calls come from one thread only.
#pragma once

#include <thread>

#include "base/log.h"

namespace quire {

// A member of classes that belong to one thread: the first Check() binds it, later ones must come
// from the same thread. Costs nothing where QUIRE_DCHECK is off.
class ThreadChecker {
 public:
  void Check() const {
#if defined(QUIRE_DCHECK_ENABLED)
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    QUIRE_CHECK(owner_ == std::this_thread::get_id()) << "called from a second thread";
#endif
  }

  // Lets the next caller's thread become the owner.
  void Detach() {
#if defined(QUIRE_DCHECK_ENABLED)
    owner_ = std::thread::id();
#endif
  }

 private:
#if defined(QUIRE_DCHECK_ENABLED)
  mutable std::thread::id owner_;
#endif
};

}  // namespace quire
